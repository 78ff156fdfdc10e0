//! What of QuickAssist this host has, from sysfs; the library is not touched.

use rustix::fs::{Access as Mode, access};
use rustix::process::{Resource, geteuid, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// Most instances that are used.
pub(super) const INSTANCES_MAX: usize = 64;

/// Locked memory that one virtual function and one instance with buffers of 512 KiB need, in bytes.
const LOCKED: u64 = (16 + 45) << 20;

/// Vendor and device ids: model, and whether it is a virtual function.
const MODELS: &[(u16, &str, bool)] = &[
    (0x0435, "DH895xCC", false),
    (0x37c8, "C62x", false),
    (0x19e2, "C3xxx", false),
    (0x6f54, "D15xx", false),
    (0x4940, "4xxx", false),
    (0x4942, "401xx", false),
    (0x4944, "402xx", false),
    (0x4946, "420xx", false),
    (0x4948, "6xxx", false),
    (0x0443, "DH895xCC", true),
    (0x37c9, "C62x", true),
    (0x19e3, "C3xxx", true),
    (0x6f55, "D15xx", true),
    (0x4941, "4xxx", true),
    (0x4943, "401xx", true),
    (0x4945, "402xx", true),
    (0x4947, "420xx", true),
    (0x4949, "6xxx", true),
];
const INTEL: u16 = 0x8086;

/// Whether this process may use the file through which a device is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Granted(PathBuf),
    /// It may not.
    Denied(PathBuf),
    /// There is no such file.
    Absent(PathBuf),
}

/// One function of a device on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its address on the bus.
    pub address: String,
    /// Its model.
    pub model: &'static str,
    /// Whether it is a virtual function.
    pub is_virtual: bool,
    /// The kernel driver that has it.
    pub driver: Option<String>,
    /// Whether the driver says that it is up, `up` or `down`.
    pub state: Option<String>,
    /// The services the driver was told to offer, such as `sym;dc`.
    pub services: Option<String>,
    /// For a virtual function given to VFIO, whether this process may open its group.
    pub access: Option<Access>,
}

/// Why QuickAssist is not used, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The reason, in words.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Devices and their virtual functions, by address.
    pub devices: Vec<Device>,
    /// The limit of locked memory in bytes; `None` when there is none.
    pub memlock: Option<u64>,
    /// The one reason why QuickAssist cannot be used; `None` when nothing speaks against it so far.
    pub missing: Option<Missing>,
}

impl Probe {
    /// Looks below `root`, which is `/` but for tests, at `sys/bus/pci/devices` and `dev`.
    #[must_use]
    pub fn of(root: &Path) -> Self {
        let devices = devices(root);
        let memlock = if geteuid().is_root() { None } else { getrlimit(Resource::Memlock).current };
        let missing = missing(root, &devices, memlock);
        Self { devices, memlock, missing }
    }
}

fn devices(root: &Path) -> Vec<Device> {
    let entries = fs::read_dir(root.join("sys/bus/pci/devices")).into_iter().flatten().flatten();
    let mut found: Vec<Device> = entries.filter_map(|entry| device(root, &entry.path())).collect();
    found.sort_by(|a, b| a.address.cmp(&b.address));
    found
}

fn device(root: &Path, folder: &Path) -> Option<Device> {
    let line = |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
    let number = |name: &str| u16::from_str_radix(line(name)?.strip_prefix("0x")?, 16).ok();
    let linked = |name: &str| Some(fs::read_link(folder.join(name)).ok()?.file_name()?.to_string_lossy().into_owned());
    if number("vendor")? != INTEL {
        return None;
    }
    let id = number("device")?;
    let (_, model, is_virtual) = *MODELS.iter().find(|(known, ..)| *known == id)?;
    let driver = linked("driver");
    let group = linked("iommu_group").filter(|_| driver.as_deref() == Some("vfio-pci"));
    Some(Device {
        address: folder.file_name()?.to_string_lossy().into_owned(),
        model,
        is_virtual,
        state: line("qat/state"),
        services: line("qat/cfg_services"),
        access: group.map(|group| access_of(root.join("dev/vfio").join(group))),
        driver,
    })
}

fn access_of(path: PathBuf) -> Access {
    if !path.exists() {
        Access::Absent(path)
    } else if access(&path, Mode::READ_OK | Mode::WRITE_OK).is_ok() {
        Access::Granted(path)
    } else {
        Access::Denied(path)
    }
}

/// Whether a list of services such as `sym;dc` has compression; `dcc` is compression with chaining.
fn compresses(services: &str) -> bool {
    services.split([';', ',', ' ']).any(|service| matches!(service, "dc" | "dcc"))
}

fn missing(root: &Path, devices: &[Device], memlock: Option<u64>) -> Option<Missing> {
    let because = |reason: String, hint: &str| Some(Missing { reason, hint: hint.to_owned() });
    let physical: Vec<&Device> = devices.iter().filter(|device| !device.is_virtual).collect();
    if devices.is_empty() {
        return because(
            "no QuickAssist device is on the PCI bus".to_owned(),
            "nothing is wrong; the CPU does the same work in the same format",
        );
    }
    if let Some(first) = physical.first() {
        if physical.iter().all(|device| device.driver.is_none()) {
            return because(
                format!("no driver has the device {} ({})", first.address, first.model),
                "load the kernel module of the device, such as `modprobe qat_4xxx`, with its firmware installed",
            );
        }
        if physical.iter().all(|device| device.state.as_deref() == Some("down")) {
            return because(
                format!("the device {} ({}) is down", first.address, first.model),
                "start the service `qat`, or write `up` to its file `qat/state`",
            );
        }
        if physical.iter().all(|device| device.services.as_deref().is_some_and(|list| !compresses(list))) {
            let services = first.services.as_deref().unwrap_or_default();
            return because(
                format!("the device {} does not offer the service `dc` but `{services}`", first.address),
                "set `dc`, or `sym;dc`, as the services of the device, with the device down, and bring it up again",
            );
        }
    }
    missing_access(root, devices).or_else(|| {
        let limit = memlock.filter(|limit| *limit < LOCKED)?;
        because(
            format!("only {} MiB of memory may be locked, and the device needs {}", limit >> 20, LOCKED >> 20),
            "raise the limit `memlock` of whoever runs this, in limits.conf or with LimitMEMLOCK in a unit",
        )
    })
}

/// Whether there is a way to the device: a VFIO group, or the file of the driver that does without VFIO.
fn missing_access(root: &Path, devices: &[Device]) -> Option<Missing> {
    let because = |reason: String, hint: &str| Some(Missing { reason, hint: hint.to_owned() });
    let ways: Vec<&Access> = devices.iter().filter_map(|device| device.access.as_ref()).collect();
    let old = access_of(root.join("dev/qat_adf_ctl"));
    if matches!(old, Access::Granted(_)) || ways.iter().any(|way| matches!(way, Access::Granted(_))) {
        return None;
    }
    let denied = ways.into_iter().chain([&old]).find_map(|way| match way {
        Access::Denied(path) => Some(path.display().to_string()),
        _ => None,
    });
    match denied {
        Some(path) => because(
            format!("permission to open `{path}` is denied"),
            "add whoever runs this to the group `qat`, which owns the devices, and log in again",
        ),
        None => because(
            "no virtual function of the device is given to user space".to_owned(),
            "start the service `qat`, which makes virtual functions and binds them to vfio-pci",
        ),
    }
}

/// What a code of the library says.
pub(super) fn meaning(code: i32) -> &'static str {
    match code {
        qatzip_sys::QZ_PARAMS => "it does not take the settings",
        qatzip_sys::QZ_NOSW_NO_HW => "it finds no device that it can use",
        qatzip_sys::QZ_NOSW_NO_MDRV => "the memory driver is not loaded",
        qatzip_sys::QZ_NOSW_NO_INST_ATTACH => "no instance is free; another process may have them",
        qatzip_sys::QZ_NOSW_LOW_MEM => "it has too little memory",
        qatzip_sys::QZ_NOSW_UNSUPPORTED_FMT => "the device does not do raw deflate",
        _ => "it does not say why",
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Device, Probe, compresses, missing};
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Makes a function of a device below `root`.
    fn plug(root: &Path, address: &str, id: &str, files: &[(&str, &str)], links: &[(&str, &str)]) {
        let folder = root.join("sys/bus/pci/devices").join(address);
        fs::create_dir_all(folder.join("qat")).unwrap();
        fs::write(folder.join("vendor"), "0x8086\n").unwrap();
        fs::write(folder.join("device"), format!("{id}\n")).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        for (name, target) in links {
            symlink(target, folder.join(name)).unwrap();
        }
    }

    fn reason(root: &Path) -> String {
        Probe::of(root).missing.map(|missing| missing.reason).unwrap_or_default()
    }

    #[test]
    fn each_thing_that_is_missing_is_the_reason_until_it_is_there() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(reason(root), "no QuickAssist device is on the PCI bus");
        plug(root, "0000:01:00.0", "0x1234", &[], &[]);
        assert_eq!(reason(root), "no QuickAssist device is on the PCI bus");

        plug(root, "0000:6b:00.0", "0x4940", &[("qat/state", "down\n"), ("qat/cfg_services", "sym;asym\n")], &[]);
        assert_eq!(reason(root), "no driver has the device 0000:6b:00.0 (4xxx)");
        let folder = root.join("sys/bus/pci/devices/0000:6b:00.0");
        symlink("../../../bus/pci/drivers/4xxx", folder.join("driver")).unwrap();
        assert_eq!(reason(root), "the device 0000:6b:00.0 (4xxx) is down");
        fs::write(folder.join("qat/state"), "up\n").unwrap();
        assert_eq!(reason(root), "the device 0000:6b:00.0 does not offer the service `dc` but `sym;asym`");
        fs::write(folder.join("qat/cfg_services"), "sym;dc\n").unwrap();
        assert_eq!(reason(root), "no virtual function of the device is given to user space");

        let links = [("driver", "../drivers/vfio-pci"), ("iommu_group", "../../kernel/iommu_groups/77")];
        plug(root, "0000:6b:00.1", "0x4941", &[], &links);
        assert_eq!(reason(root), "no virtual function of the device is given to user space");
        fs::create_dir_all(root.join("dev/vfio")).unwrap();
        fs::write(root.join("dev/vfio/77"), "").unwrap();
        let probe = Probe::of(root);
        assert_eq!(probe.missing.map(|missing| missing.reason), None);
        assert_eq!(probe.devices[1].access, Some(Access::Granted(root.join("dev/vfio/77"))));
        assert!(probe.devices[1].is_virtual && probe.devices[1].driver.as_deref() == Some("vfio-pci"));
    }

    #[test]
    fn permission_and_locked_memory_are_reasons_of_their_own() {
        let root = tempfile::tempdir().unwrap();
        let with = |access: Access, memlock: Option<u64>| {
            let device = Device {
                address: "0000:6b:00.1".to_owned(),
                model: "4xxx",
                is_virtual: true,
                driver: Some("vfio-pci".to_owned()),
                state: None,
                services: None,
                access: Some(access),
            };
            missing(root.path(), &[device], memlock).map(|missing| missing.reason)
        };
        let group = root.path().join("dev/vfio/7");
        let denied = with(Access::Denied(group.clone()), None).unwrap();
        assert_eq!(denied, format!("permission to open `{}` is denied", group.display()));
        assert!(with(Access::Absent(group.clone()), None).unwrap().contains("given to user space"));
        assert_eq!(with(Access::Granted(group.clone()), None), None);
        assert_eq!(with(Access::Granted(group.clone()), Some(64 << 20)), None);
        assert!(with(Access::Granted(group), Some(8 << 20)).unwrap().contains("only 8 MiB of memory may be locked"));
    }

    #[test]
    fn compression_is_found_among_the_services() {
        for (services, expected) in
            [("dc", true), ("sym;dc", true), ("dcc", true), ("sym;asym", false), ("", false), ("dcx", false)]
        {
            assert_eq!(compresses(services), expected, "{services}");
        }
    }
}
