# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_nightjar_global_optspecs
    string join \n r/repo= p/password-file= password-command= compression= cache-dir= cache-size= no-cache json q/quiet engine= qat-verify= v/verbose h/help V/version
end

function __fish_nightjar_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_nightjar_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_nightjar_using_subcommand
    set -l cmd (__fish_nightjar_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c nightjar -n "__fish_nightjar_needs_command" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_needs_command" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_needs_command" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_needs_command" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_needs_command" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_needs_command" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_needs_command" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_needs_command" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_needs_command" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_needs_command" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_needs_command" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_needs_command" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nightjar -n "__fish_nightjar_needs_command" -s V -l version -d 'Print version'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "init" -d 'Make a repository'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "backup" -d 'Save files, or the output of a command, as a new snapshot'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "snapshots" -d 'List the snapshots'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "ls" -d 'List what is in a snapshot'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "restore" -d 'Get files back from a snapshot'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "forget" -d 'Take snapshots away, by name or by rules, and bring them back'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "prune" -d 'Remove what no snapshot needs any more'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "check" -d 'Find all that is damaged, down to the files of snapshots'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "scrub" -d 'Compare every object with its name; needs no password'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "repair" -d 'Do what can be done about damage'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "stats" -d 'Say what the repository holds and how much space it takes'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "bench" -d 'Measure how fast this host compresses and encrypts'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "demo" -d 'Show a whole backup and restore in a scratch folder'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "man" -d 'Write the manual pages'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "key" -d 'List, add, remove and change what opens the repository'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "cache" -d 'Show and clear what is kept of repositories on this host'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "repo" -d 'Show what the repository is set up with, and change it'
complete -c nightjar -n "__fish_nightjar_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l chunk-size -d 'Sizes between which contents are cut: smallest, average and largest, powers of two' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l block-size -d 'Bytes that are compressed and encrypted together, 64K to 4M' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l pack-size -d 'Size of the files in which blocks are kept, 1M to 128M' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l reserve -d 'Space kept back in the repository, so that a prune works on a full disk; grows with the index; 0 for none' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l cipher -d 'Cipher [default: aes-256-gcm where the processor has instructions for it, else chacha20-poly1305]' -r -f -a "aes-256-gcm\t''
chacha20-poly1305\t''"
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l kdf -d 'How hard guessing the password is made: standard takes 64 MiB of memory a guess, strong 1 GiB' -r -f -a "standard\t''
strong\t''"
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l no-recovery-key -d 'Make no recovery key; whoever loses the password then loses everything'
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand init" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l stdin-filename -d 'Save standard input as a file of this name' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l tag -d 'Tags, with commas between them or given several times' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l host -d 'Host in the snapshot [default: the name of this host]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l job -d 'Job in the snapshot; snapshots of the same job belong together whatever their paths' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l parent -d 'Take unchanged files over from this snapshot [default: the last one of the same host and job or paths]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l read-concurrency -d 'Files read at once [default: one a processor, 4 to 8]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l checkpoint-interval -d 'How often what is stored so far is made findable for the next run after an interruption' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l files-from -d 'More paths from a file, one a line; - is standard input' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l files-from0 -d 'The same with NUL behind each path, as find -print0 writes them' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l exclude -d 'Leave out what fits the pattern' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l iexclude -d 'The same, small and capital letters being equal' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l exclude-file -d 'Leave out what fits the patterns in a file, one a line; they come behind those of the command line' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l exclude-if-present -d 'Leave out the contents of folders that hold this file, with this text at its beginning if one is given' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l exclude-larger-than -d 'Leave out files larger than this' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l stdin-from-command -d 'Save the output of a command, written behind --; when it fails, there is no snapshot'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s f -l force -d 'Read every file, also those that look unchanged'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s n -l dry-run -d 'Store nothing, only say what would be'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l skip-if-unchanged -d 'Make no snapshot when nothing differs from the last one'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l init -d 'Make the repository first if there is none, without a recovery key'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l accept-shrink -d 'Take it as it is that less than half of the files are there that were there before'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l exclude-caches -d 'Leave out the contents of folders that are marked by a CACHEDIR.TAG'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s x -l one-file-system -d 'Stay on the file system of each path'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand backup" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l host -d 'Only those of this host' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l job -d 'Only those of this job' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l tag -d 'Only those with this tag; several tags with commas between them must all be there' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l path -d 'Only those that hold this path' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l last -d 'Only the newest N' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand snapshots" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -s l -l long -d 'Mode, owner, size, time and link target too'
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand ls" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -s t -l target -d 'Folder that takes the files; made if it is missing' -r -f -a "(__fish_complete_directories)"
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand restore" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s l -l keep-last -d 'Keep the newest N of a group' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s H -l keep-hourly -d 'Keep one for each of the N most recent hours that have one' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s d -l keep-daily -d 'Days' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s w -l keep-weekly -d 'ISO weeks' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s m -l keep-monthly -d 'Months' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s y -l keep-yearly -d 'Years' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-within -d 'Keep all that are no older than this, such as 1y6m, 30d or 12h, before the newest of the group' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-within-hourly -d 'One an hour of these' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-within-daily -d 'One a day' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-within-weekly -d 'One a week' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-within-monthly -d 'One a month' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-within-yearly -d 'One a year' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-tag -d 'Keep what has all of these tags; may be given several times' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l keep-id -d 'Keep these snapshots' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l host -d 'Only snapshots of this host' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l job -d 'Only snapshots of this job' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l time-zone -d 'The time zone of days, weeks, months and years [default: that of this host]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l allow-empty -d 'Let a policy leave nothing of a group'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l undo -d 'Bring forgotten snapshots back; possible until a prune has swept them'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l list -d 'List what can be brought back'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s n -l dry-run -d 'Change nothing, only say what would be done'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand forget" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l grace -d 'How long what was marked stays before it is removed; 0 marks and removes at once, and refuses while anybody writes' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l wait -d 'How long to wait for another prune' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l max-unused -d 'How much of the repository may stay unused; more than that is copied together' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l max-repack -d 'How much of the repository one run may copy' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -s n -l dry-run -d 'Change nothing, only say what would be done'
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand prune" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l read-data-subset -d 'Read a part of the packs: a share (5%), a size (50G), or the nth of so many parts (3/7)' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l every -d 'Of the packs that are to be read, only those that this host has not read for so long, the oldest first' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l read-data -d 'Also read every pack: open each block and compare each chunk with its id'
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand check" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l subset -d 'Read a part of the packs: a share (5%), a size (50G), or the nth of so many parts (3/7)' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l every -d 'Only packs that this host has not read for so long, the oldest first' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand scrub" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l from -d 'Another copy of the repository, from which damaged and missing objects are fetched' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l read-data-subset -d 'Read a part of the packs: a share (5%), a size (50G), or the nth of so many parts (3/7)' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l wait -d 'How long to wait for a prune or another repair to end' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l apply -d 'Do it; without this it is only said what would be done'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l read-data -d 'Also read every pack, to find what is damaged inside'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand repair" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l engine -d 'Say what accelerator this host has and why it is used or not, instead of anything about a repository' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l per-snapshot -d 'A row for every snapshot too'
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand stats" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l target -d 'Write the sealed blocks, in packs of 32 MiB, to this folder too; they are removed again' -r -f -a "(__fish_complete_directories)"
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l codecs -d 'Codecs: off, lz4, zstd:N, deflate:N, fast, auto, better, max [default: a choice of them]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l ciphers -d 'Ciphers: none, aes, chacha [default: aes where the CPU has instructions for it, else chacha]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l block-sizes -d 'Sizes of blocks, 1K to 4M [default: 64K,512K; with --full 4K,64K,256K,512K]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l jobs -d 'Threads that work at once, 1 to 256 [default: 1 and as many as there are processors]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l seconds -d 'How long each row is measured, in seconds, 0.01 to 3600 [default: 0.3]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l csv -d 'Write the rows to this file as comma-separated values' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l html -d 'Write a page with bars to this file' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l live -d 'Tell once a second how it goes: influx prints line protocol instead of tables, prometheus:FILE keeps a file of metrics' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l full -d 'Every codec, cipher and block size'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l explain -d 'Say what limits each row, and what an accelerator would change'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand bench" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l dir -d 'Folder in which the scratch folder is made [default: TMPDIR]' -r -f -a "(__fish_complete_directories)"
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l keep -d 'Leave the scratch folder behind, to look around in it'
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand demo" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand completions" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand man" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -f -a "list" -d 'List the key slots'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -f -a "add" -d 'Add a password, a key file or a recovery key'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -f -a "remove" -d 'Remove a key slot; what it was for opens the repository no more'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -f -a "passwd" -d 'Change the password that the repository is opened with'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and not __fish_seen_subcommand_from list add remove passwd verify" -f -a "verify" -d 'Say whether a recovery key opens the repository'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l new-password-file -d 'File whose one line is the new password [default: the terminal is asked, twice]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l new-password-command -d 'Shell command that prints the new password' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l kdf -d 'How hard guessing the new password is made: standard takes 64 MiB of memory a guess, strong 1 GiB [default: as for the password that opens the repository, else standard]' -r -f -a "standard\t''
strong\t''"
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l key-file -d 'Make a key file there instead, which opens the repository as --password-file; an existing file is not touched' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l recovery -d 'Make another recovery key instead, which is shown once'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l new-password-file -d 'File whose one line is the new password [default: the terminal is asked, twice]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l new-password-command -d 'Shell command that prints the new password' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l kdf -d 'How hard guessing the new password is made: standard takes 64 MiB of memory a guess, strong 1 GiB [default: as for the password that opens the repository, else standard]' -r -f -a "standard\t''
strong\t''"
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from passwd" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l key-file -d 'File whose one line is the recovery key, such as a key file [default: the terminal is asked]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand key; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -f -a "show" -d 'Show where it is and what each repository takes'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and not __fish_seen_subcommand_from show clear" -f -a "clear" -d 'Remove all of it'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand cache; and __fish_seen_subcommand_from clear" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -f -a "show" -d 'Show what the repository is set up with'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -f -a "accept" -d 'Take the repository as it is, after it went back or was replaced by another'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and not __fish_seen_subcommand_from show accept set" -f -a "set" -d 'Change how new data is stored: compression, block size, pack sizes'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l block-size -d 'Bytes that are compressed and encrypted together, 64K to 4M, and at least the largest chunk' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l pack-size -d 'Size of the files in which blocks of contents are kept, 1M to 128M' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l tree-pack-size -d 'Size of the files in which blocks of directories are kept, 1M to 128M' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l reserve -d 'Space kept back in the repository, so that a prune works on a full disk; 0 for none' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -s r -l repo -d 'Where the repository is: a path, or local:PATH [variable: NIGHTJAR_REPO]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -s p -l password-file -d 'File whose one line is the password [variable: NIGHTJAR_PASSWORD_FILE]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l password-command -d 'Shell command that prints the password [variable: NIGHTJAR_PASSWORD_COMMAND]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l compression -d 'How new data is compressed: off, fast, auto, better, max, lz4, zstd:1..19 or deflate:1..9 [variable: NIGHTJAR_COMPRESSION] [default: what init was told, else auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l cache-dir -d 'Folder for objects of repositories on other hosts, and use it for this one wherever it is [variable: NIGHTJAR_CACHE_DIR]' -r -F
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l cache-size -d 'How large the cache of a repository may be [variable: NIGHTJAR_CACHE_SIZE] [default: 2G]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l engine -d 'Where blocks are compressed: auto, cpu or qat [variable: NIGHTJAR_ENGINE] [default: auto]' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l qat-verify -d 'Which blocks from an accelerator are compared with what went in: off, suspect or always' -r
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l no-cache -d 'Keep nothing of the repository on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -l json -d 'Print one JSON object a line and nothing else'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -s q -l quiet -d 'Show no progress and no notes'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -s v -l verbose -d 'Show details; twice, also why things are as they are'
complete -c nightjar -n "__fish_nightjar_using_subcommand repo; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "init" -d 'Make a repository'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "backup" -d 'Save files, or the output of a command, as a new snapshot'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "snapshots" -d 'List the snapshots'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "ls" -d 'List what is in a snapshot'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "restore" -d 'Get files back from a snapshot'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "forget" -d 'Take snapshots away, by name or by rules, and bring them back'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "prune" -d 'Remove what no snapshot needs any more'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "check" -d 'Find all that is damaged, down to the files of snapshots'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "scrub" -d 'Compare every object with its name; needs no password'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "repair" -d 'Do what can be done about damage'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "stats" -d 'Say what the repository holds and how much space it takes'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "bench" -d 'Measure how fast this host compresses and encrypts'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "demo" -d 'Show a whole backup and restore in a scratch folder'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "completions" -d 'Print completions for a shell'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "man" -d 'Write the manual pages'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "key" -d 'List, add, remove and change what opens the repository'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "cache" -d 'Show and clear what is kept of repositories on this host'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "repo" -d 'Show what the repository is set up with, and change it'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and not __fish_seen_subcommand_from init backup snapshots ls restore forget prune check scrub repair stats bench demo completions man key cache repo help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "list" -d 'List the key slots'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "add" -d 'Add a password, a key file or a recovery key'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "remove" -d 'Remove a key slot; what it was for opens the repository no more'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "passwd" -d 'Change the password that the repository is opened with'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from key" -f -a "verify" -d 'Say whether a recovery key opens the repository'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from cache" -f -a "show" -d 'Show where it is and what each repository takes'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from cache" -f -a "clear" -d 'Remove all of it'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from repo" -f -a "show" -d 'Show what the repository is set up with'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from repo" -f -a "accept" -d 'Take the repository as it is, after it went back or was replaced by another'
complete -c nightjar -n "__fish_nightjar_using_subcommand help; and __fish_seen_subcommand_from repo" -f -a "set" -d 'Change how new data is stored: compression, block size, pack sizes'
