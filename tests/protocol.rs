//! The protocol of writers and prune (`ARCHITECTURE.md`, "Concurrency") as a model, with every interleaving looked at.
//!
//! The repository of the model is one chunk. `OLD` is a pack that holds it from the start, `A` and `B` are packs that the
//! two writers would store it in again. One snapshot needs it from the start, and may be forgotten and brought back; each
//! writer makes another that needs it. Whoever works may stop at any step, for ever or for longer than any grace, because
//! every step is only something that *may* happen next; that the clocks say the grace has passed is never what protects
//! anything here. A listing is not one moment: what was put or deleted while it went on may be in it or not.
//!
//! Each rule of the protocol can be left out; then the model must find the disaster that the rule is there for.

use stateright::{Checker, Expectation, HasDiscoveries, Model, Path, Property};
use std::collections::BTreeMap;

/// A set of packs, of snapshots, or of leases.
type Set = u8;

const A: Set = 1;
const B: Set = 2;
/// The pack that was there from the start, the snapshot that was; as a lease, that of the undo.
const OLD: Set = 4;
/// The snapshot that the undo puts.
const BACK: Set = 8;

/// What can be left out of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A writer puts its lease before it looks at marks.
    LeaseFirst,
    /// A writer looks at marks before the index.
    MarksBeforeIndex,
    /// A writer that is not in the census does not build on marked packs.
    MarksAreObeyed,
    /// The census is taken after the mark stands.
    CensusAfterMark,
    /// The sweep waits for the leases of the census or makes them void.
    SweepWaits,
    /// A stale lease is made void, and the snapshots it may still name are written down.
    VoidBeforeHonour,
    /// A snapshot of a void lease that is not honoured is invisible.
    VoidIsInvisible,
    /// A writer looks for the void mark of its lease after its commit.
    WriterLooksAgain,
    /// The sweep reads the snapshots again.
    SweepReadsAgain,
    /// The sweep deletes index objects before packs.
    IndexBeforePacks,
    /// The sweep takes forgotten snapshots away before it looks for leases of undo.
    ForgottenGoFirst,
    /// The sweep waits for leases of undo that are not in the census.
    SweepWaitsForUndo,
    /// A mark without a census is not swept.
    CensusOrNothing,
}

const RULES: [Rule; 13] = [
    Rule::LeaseFirst,
    Rule::MarksBeforeIndex,
    Rule::MarksAreObeyed,
    Rule::CensusAfterMark,
    Rule::SweepWaits,
    Rule::VoidBeforeHonour,
    Rule::VoidIsInvisible,
    Rule::WriterLooksAgain,
    Rule::SweepReadsAgain,
    Rule::IndexBeforePacks,
    Rule::ForgottenGoFirst,
    Rule::SweepWaitsForUndo,
    Rule::CensusOrNothing,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Mark {
    packs: Set,
    forgotten: Set,
    census: Option<Set>,
}

/// A listing that has begun: what was there then, and all that was there at some time since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Listing {
    always: Set,
    ever: Set,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
enum WriterStep {
    #[default]
    Lease,
    Marks,
    Index,
    Pack,
    PutIndex,
    Commit,
    Look,
    End,
    Clear,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Writer {
    step: WriterStep,
    /// Packs it must not build on.
    avoid: Set,
    /// Whether it was told that its snapshot counts.
    acknowledged: bool,
    late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
enum PruneStep {
    #[default]
    Begin,
    // mark
    Live,
    LiveEnd,
    Candidates,
    PutMark,
    Leases,
    LeasesEnd,
    PutCensus,
    // sweep
    Wait,
    Void(Set),
    Honour(Set),
    HonourEnd(Set),
    TakeForgotten,
    UndoLeases,
    UndoLeasesEnd,
    WaitUndo,
    Again,
    AgainEnd,
    AgainForgotten,
    Last,
    LastEnd,
    Decide,
    DropIndex,
    DropPacks,
    DropMark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Prune {
    step: PruneStep,
    runs: u8,
    stops: u8,
    listing: Listing,
    needed: bool,
    doomed: Set,
    forgotten: Set,
    leases: Set,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
enum UndoStep {
    #[default]
    Lease,
    Look,
    Put,
    LookAgain,
    Remove,
    End,
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
struct Undo {
    step: UndoStep,
    acknowledged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    packs: Set,
    index: Set,
    snapshots: Set,
    forgotten: Set,
    /// Leases that stand and have not ended.
    live: Set,
    /// Leases whose end stands.
    ended: Set,
    void: Set,
    /// For each void lease whether it is written down which snapshots are honoured, and those.
    settled: Set,
    honoured: Set,
    mark: Option<Mark>,
    writers: [Writer; 2],
    prune: Prune,
    undo: Undo,
    /// Whether the old snapshot may still be asked to go.
    forgets: u8,
}

/// The lease that a snapshot names.
fn lease_of(snapshot: Set) -> Set {
    if snapshot == BACK { OLD } else { snapshot }
}

fn each(set: Set) -> impl Iterator<Item = Set> {
    [A, B, OLD, BACK].into_iter().filter(move |one| set & one != 0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Writer(usize),
    Prune,
    /// The prune's listing ends with this.
    Listed(Set),
    /// The prune keeps this pack of those that hold the chunk.
    Keep(Set),
    /// The prune finds this lease stale.
    Stale(Set),
    /// The prune's run ends here, and there will be another.
    PruneStops,
    /// The old snapshot moves.
    ForgetPut,
    ForgetDelete,
    Undo,
}

/// The model: which rule is left out, how many writers there are, and whether somebody undoes the forgetting.
#[derive(Clone, Copy, Debug)]
struct Protocol {
    without: Option<Rule>,
    writers: usize,
    undo: bool,
}

impl Protocol {
    fn holds(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn visible(&self, state: &State) -> Set {
        if !self.holds(Rule::VoidIsInvisible) {
            return state.snapshots;
        }
        let seen = |one: &Set| {
            let lease = lease_of(*one);
            *one == OLD || state.settled & lease == 0 || state.honoured & one != 0
        };
        each(state.snapshots).filter(seen).fold(0, |set, one| set | one)
    }

    #[expect(clippy::too_many_lines, reason = "the steps of one actor stand best in one table")]
    fn write(&self, state: &mut State, which: usize) -> Option<()> {
        use WriterStep as S;
        let own = [A, B][which];
        let mut writer = state.writers[which];
        let marks_first = self.holds(Rule::MarksBeforeIndex);
        writer.step = match writer.step {
            S::Lease if !self.holds(Rule::LeaseFirst) && !writer.late => {
                writer.late = true;
                S::Marks
            }
            S::Lease => {
                state.live |= own;
                if writer.late {
                    S::Index
                } else if marks_first {
                    S::Marks
                } else {
                    S::Index
                }
            }
            S::Marks => {
                if let Some(mark) = state.mark.filter(|_| self.holds(Rule::MarksAreObeyed))
                    && mark.census.is_none_or(|census| census & own == 0)
                {
                    writer.avoid |= mark.packs;
                }
                if writer.late {
                    S::Lease
                } else if marks_first {
                    S::Index
                } else if writer.acknowledged {
                    S::Commit
                } else {
                    S::Pack
                }
            }
            S::Index => {
                let known = state.index & !writer.avoid;
                // `acknowledged` serves as "found" until the commit when the order is turned round.
                if marks_first || writer.late {
                    if known != 0 { S::Commit } else { S::Pack }
                } else {
                    writer.acknowledged = known != 0;
                    S::Marks
                }
            }
            S::Pack => {
                state.packs |= own;
                S::PutIndex
            }
            S::PutIndex => {
                state.index |= own;
                S::Commit
            }
            S::Commit => {
                writer.acknowledged = false;
                state.snapshots |= own;
                S::Look
            }
            S::Look => {
                let void = self.holds(Rule::WriterLooksAgain) && state.void & own != 0;
                // A void lease that is not settled yet is no success.
                writer.acknowledged = !void || (state.settled & state.honoured & own != 0);
                S::End
            }
            S::End => {
                state.live &= !own;
                state.ended |= own;
                S::Clear
            }
            S::Clear => {
                state.ended &= !own;
                S::Gone
            }
            S::Gone => return None,
        };
        state.writers[which] = writer;
        Some(())
    }

    fn undo(state: &mut State) -> Option<()> {
        use UndoStep as S;
        state.undo.step = match state.undo.step {
            S::Lease => {
                state.live |= OLD;
                S::Look
            }
            S::Look => {
                if state.forgotten & OLD != 0 {
                    S::Put
                } else {
                    S::End
                }
            }
            S::Put => {
                state.snapshots |= BACK;
                S::LookAgain
            }
            S::LookAgain => {
                let void = state.void & OLD != 0;
                state.undo.acknowledged = !void || state.settled & OLD != 0 && state.honoured & BACK != 0;
                if state.undo.acknowledged { S::Remove } else { S::End }
            }
            S::Remove => {
                state.forgotten &= !OLD;
                S::End
            }
            S::End => {
                state.live &= !OLD;
                state.ended |= OLD;
                S::Gone
            }
            S::Gone => return None,
        };
        Some(())
    }

    /// Leases that the sweep still has to wait for or to make void.
    fn awaited(state: &State, leases: Set) -> Set {
        leases & state.live & !(state.void & state.settled)
    }

    #[expect(clippy::too_many_lines, reason = "the steps of one actor stand best in one table")]
    fn prune(&self, state: &mut State) -> Option<()> {
        use PruneStep as S;
        let mut prune = state.prune;
        let begin = |prune: &mut Prune, set: Set| prune.listing = Listing { always: set, ever: set };
        let mark = state.mark.unwrap_or_default();
        prune.step = match prune.step {
            S::Begin if prune.runs == 2 => return None,
            S::Begin => match state.mark {
                None => S::Live,
                Some(Mark { census: Some(_), .. }) => S::Wait,
                Some(_) if !self.holds(Rule::CensusOrNothing) => S::Wait,
                Some(_) => S::DropMark,
            },
            S::Live => {
                begin(&mut prune, state.snapshots);
                prune.forgotten = state.forgotten;
                S::LiveEnd
            }
            S::PutMark => {
                let census = (!self.holds(Rule::CensusAfterMark)).then_some(prune.leases);
                state.mark = Some(Mark { packs: prune.doomed, forgotten: prune.forgotten, census });
                if census.is_some() {
                    prune.runs += 1;
                    S::Begin
                } else {
                    S::Leases
                }
            }
            S::Leases => {
                begin(&mut prune, state.live | state.ended);
                S::LeasesEnd
            }
            S::PutCensus => {
                state.mark = Some(Mark { census: Some(prune.leases), ..mark });
                prune = Prune { runs: prune.runs + 1, stops: prune.stops, ..Prune::default() };
                S::Begin
            }
            S::Wait => {
                if self.holds(Rule::SweepWaits) && Self::awaited(state, mark.census.unwrap_or(0)) != 0 {
                    return None;
                }
                S::TakeForgotten
            }
            S::Void(lease) => {
                state.void |= lease;
                S::Honour(lease)
            }
            S::Honour(lease) => {
                begin(&mut prune, state.snapshots);
                S::HonourEnd(lease)
            }
            S::TakeForgotten => {
                if self.holds(Rule::ForgottenGoFirst) {
                    state.forgotten &= !mark.forgotten;
                }
                S::UndoLeases
            }
            S::UndoLeases => {
                begin(&mut prune, (state.live | state.ended) & OLD);
                S::UndoLeasesEnd
            }
            S::WaitUndo => {
                if self.holds(Rule::SweepWaitsForUndo) && Self::awaited(state, prune.leases) != 0 {
                    return None;
                }
                if !self.holds(Rule::ForgottenGoFirst) {
                    state.forgotten &= !mark.forgotten;
                }
                S::Again
            }
            S::Again => {
                begin(&mut prune, state.snapshots);
                S::AgainEnd
            }
            S::AgainForgotten => {
                prune.needed |= state.forgotten != 0;
                S::Last
            }
            S::Last => {
                begin(&mut prune, state.snapshots);
                S::LastEnd
            }
            S::DropIndex => {
                state.index &= !prune.doomed;
                if self.holds(Rule::IndexBeforePacks) { S::DropPacks } else { S::DropMark }
            }
            S::DropPacks => {
                state.packs &= !prune.doomed;
                if self.holds(Rule::IndexBeforePacks) { S::DropMark } else { S::DropIndex }
            }
            S::DropMark => {
                state.mark = None;
                prune = Prune { runs: prune.runs + 1, stops: prune.stops, ..Prune::default() };
                S::Begin
            }
            S::LiveEnd
            | S::LeasesEnd
            | S::HonourEnd(_)
            | S::UndoLeasesEnd
            | S::AgainEnd
            | S::LastEnd
            | S::Candidates
            | S::Decide => return None,
        };
        state.prune = prune;
        Some(())
    }

    fn listed(&self, state: &mut State, seen: Set) -> Option<()> {
        use PruneStep as S;
        let visible = self.visible(state) | !state.snapshots;
        let mut prune = state.prune;
        prune.step = match prune.step {
            S::LiveEnd => {
                prune.needed = seen & visible != 0;
                if !self.holds(Rule::CensusAfterMark) {
                    prune.leases = state.live | state.ended;
                }
                S::Candidates
            }
            S::LeasesEnd => {
                prune.leases = seen;
                S::PutCensus
            }
            S::HonourEnd(lease) => {
                if state.settled & lease == 0 {
                    state.settled |= lease;
                    state.honoured |=
                        each(seen).filter(|one| *one != OLD && lease_of(*one) == lease).fold(0, |a, b| a | b);
                }
                if prune.leases & OLD != 0 && lease == OLD { S::WaitUndo } else { S::Wait }
            }
            S::UndoLeasesEnd => {
                prune.leases = seen;
                S::WaitUndo
            }
            S::AgainEnd => {
                prune.needed = self.holds(Rule::SweepReadsAgain) && seen & visible != 0;
                S::AgainForgotten
            }
            S::LastEnd => {
                prune.needed |= self.holds(Rule::SweepReadsAgain) && seen & visible != 0;
                S::Decide
            }
            _ => return None,
        };
        prune.listing = Listing::default();
        state.prune = prune;
        Some(())
    }

    /// Packs that the prune may keep the chunk in; none when nobody needs it.
    fn keepers(state: &State) -> Vec<Set> {
        if !state.prune.needed {
            return vec![0];
        }
        let marked = if state.prune.step == PruneStep::Decide { state.mark.unwrap_or_default().packs } else { 0 };
        let free = state.index & state.packs & !marked;
        // At the sweep an unmarked pack that has it is enough; otherwise one is taken off the mark.
        if free != 0 && marked != 0 { vec![0] } else { each(state.index & state.packs).collect() }
    }

    fn keep(&self, state: &mut State, kept: Set) {
        let prune = &mut state.prune;
        if prune.step == PruneStep::Candidates {
            prune.doomed = state.packs & !kept;
            prune.needed = false;
            prune.step = PruneStep::PutMark;
        } else {
            prune.doomed = state.mark.unwrap_or_default().packs & !kept;
            prune.needed = false;
            prune.step = if self.holds(Rule::IndexBeforePacks) { PruneStep::DropIndex } else { PruneStep::DropPacks };
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            packs: OLD,
            index: OLD,
            snapshots: OLD,
            forgotten: 0,
            live: 0,
            ended: 0,
            void: 0,
            settled: 0,
            honoured: 0,
            mark: None,
            writers: [Writer::default(); 2],
            prune: Prune::default(),
            undo: Undo::default(),
            forgets: 2,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        use PruneStep as S;
        actions.extend((0..self.writers).map(Action::Writer));
        actions.push(Action::Prune);
        if self.undo {
            actions.push(Action::Undo);
        }
        let Listing { always, ever } = state.prune.listing;
        match state.prune.step {
            S::LiveEnd | S::LeasesEnd | S::HonourEnd(_) | S::UndoLeasesEnd | S::AgainEnd | S::LastEnd => {
                let seen = (0..16).filter(|seen| seen & always == always && seen & !ever == 0);
                actions.extend(seen.map(Action::Listed));
            }
            S::Candidates | S::Decide => actions.extend(Self::keepers(state).into_iter().map(Action::Keep)),
            S::Wait => {
                let census = state.mark.unwrap_or_default().census.unwrap_or(0);
                actions.extend(each(Self::awaited(state, census)).map(Action::Stale));
            }
            S::WaitUndo => actions.extend(each(Self::awaited(state, state.prune.leases)).map(Action::Stale)),
            _ => {}
        }
        if state.prune.step != S::Begin && state.prune.stops == 0 {
            actions.push(Action::PruneStops);
        }
        actions.extend([Action::ForgetPut, Action::ForgetDelete]);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = *last;
        match action {
            Action::Writer(which) => self.write(&mut state, which)?,
            Action::Prune => self.prune(&mut state)?,
            Action::Undo => Self::undo(&mut state)?,
            Action::Listed(seen) => self.listed(&mut state, seen)?,
            Action::Keep(kept) => self.keep(&mut state, kept),
            Action::Stale(lease) => {
                state.prune.step = match () {
                    // It waits no longer, and nobody is told.
                    () if !self.holds(Rule::VoidBeforeHonour) => {
                        state.settled |= lease;
                        state.live &= !lease;
                        state.prune.step
                    }
                    () => PruneStep::Void(lease),
                }
            }
            Action::PruneStops => {
                state.prune = Prune { runs: state.prune.runs, stops: 1, ..Prune::default() };
            }
            Action::ForgetPut if state.forgets == 2 => {
                state.forgotten |= OLD;
                state.forgets = 1;
            }
            Action::ForgetDelete if state.forgets == 1 => {
                state.snapshots &= !OLD;
                state.forgets = 0;
            }
            Action::ForgetPut | Action::ForgetDelete => return None,
        }
        // Whatever a listing that goes on can have met.
        for (set, step) in [(state.snapshots, 0), (state.live | state.ended, 1)] {
            use PruneStep as S;
            let of_leases = matches!(state.prune.step, S::LeasesEnd | S::UndoLeasesEnd);
            if of_leases == (step == 1) {
                let set = if state.prune.step == S::UndoLeasesEnd { set & OLD } else { set };
                state.prune.listing.always &= set;
                if matches!(
                    state.prune.step,
                    S::LiveEnd | S::LeasesEnd | S::HonourEnd(_) | S::UndoLeasesEnd | S::AgainEnd | S::LastEnd
                ) {
                    state.prune.listing.ever |= set;
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every visible snapshot is complete", |model, state| {
                model.visible(state) == 0 || state.packs & state.index != 0
            }),
            Property::always("what was acknowledged is visible", |model, state| {
                let visible = model.visible(state);
                let kept = |at: usize, one: Set| {
                    !state.writers[at].acknowledged
                        || !matches!(state.writers[at].step, WriterStep::End | WriterStep::Clear | WriterStep::Gone)
                        || visible & one != 0
                };
                kept(0, A) && kept(1, B) && (!state.undo.acknowledged || visible & BACK != 0)
            }),
            Property::always("what the index names is there", |_, state: &State| state.index & !state.packs == 0),
            Property::sometimes("a pack is swept", |_, state: &State| state.packs & OLD == 0),
            Property::sometimes("a writer is turned away", |_, state: &State| {
                state.writers[0].step == WriterStep::Gone && !state.writers[0].acknowledged
            }),
            Property::sometimes("a lost lease is honoured", |_, state: &State| {
                state.honoured & A != 0 && state.writers[0].acknowledged
            }),
            Property::sometimes("an undo comes too late", |_, state: &State| {
                state.undo.step == UndoStep::Gone && !state.undo.acknowledged && state.forgets == 0
            }),
        ]
    }
}

/// Two writers and a prune; a writer, a prune, and an undo. All three writers at once find nothing more and take minutes.
const SCENES: [(usize, bool); 2] = [(2, false), (1, true)];

/// What every state must be, by name, with the shortest way to one that is not.
fn disasters(model: Protocol) -> Vec<(&'static str, Vec<Action>)> {
    let checker = model.checker().threads(2).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let rules = model.properties().into_iter().filter(|property| property.expectation == Expectation::Always);
    rules.filter_map(|rule| Some((rule.name, checker.discovery(rule.name)?.into_actions()))).collect()
}

#[test]
fn whatever_happens_every_visible_snapshot_is_whole_and_what_was_acknowledged_is_visible() {
    let mut met = BTreeMap::new();
    for (writers, undo) in SCENES {
        let model = Protocol { without: None, writers, undo };
        let checker = model.checker().threads(2).spawn_bfs().join();
        assert!(checker.is_done());
        for property in model.properties() {
            let found = checker.discovery(property.name).map(Path::into_actions);
            match property.expectation {
                Expectation::Always => assert_eq!(found, None, "{}", property.name),
                _ => *met.entry(property.name).or_insert(false) |= found.is_some(),
            }
        }
    }
    // A model in which nothing happens proves nothing.
    assert!(met.len() == 4 && met.values().all(|met| *met), "{met:?}");
}

#[test]
fn without_any_one_of_its_rules_something_is_lost() {
    for rule in RULES {
        let found = SCENES.map(|(writers, undo)| disasters(Protocol { without: Some(rule), writers, undo }));
        assert!(found.iter().any(|disasters| !disasters.is_empty()), "{rule:?} is not needed");
    }
}
