//! Knowledge and journal on a flash that loses power, restarts and rots, beside a model that is a list of worlds.
//!
//! The model holds the world that was acknowledged and those that an operation cut short may have left. After a restart
//! the storage must show one of them. Once a bit has rotted anything may be lost, but nothing that was never written
//! may appear.

use arbitrary::{Result, Unstructured};
use foretune_firmware::storage::sim::{SimFlash, Tear};
use foretune_firmware::storage::{Error, Layout, MAX_PREAMBLE, Store};

const RECORD: usize = 20;
const SECTOR: usize = 512;
const LAYOUT: Layout = Layout::consecutive(0, 2 * SECTOR as u32, 2 * SECTOR as u32);
/// Most calls in one input.
const CALLS: usize = 80;

type Flash = SimFlash<16, SECTOR>;
type Sim = Store<Flash, RECORD>;

/// Runs an input.
pub fn run(bytes: &[u8]) {
    let _ = play(&mut Unstructured::new(bytes));
}

fn play(u: &mut Unstructured<'_>) -> Result<()> {
    let mut game = Game {
        store: empty(),
        worlds: vec![World::default()],
        history: History::default(),
        corrupted: false,
    };
    for _ in 0..CALLS {
        game.call(u)?;
    }
    Ok(())
}

/// What the storage shows.
#[derive(Clone, Debug, Default, PartialEq)]
struct World {
    knowledge: Option<(u32, Vec<u8>)>,
    task: Option<Task>,
    running: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Task {
    number: u32,
    preamble: Vec<u8>,
    records: Vec<[u8; RECORD]>,
}

/// Everything that was ever written, finished or not.
#[derive(Default)]
struct History {
    knowledge: Vec<(u32, Vec<u8>)>,
    tasks: Vec<(u32, Vec<u8>)>,
    records: Vec<(u32, usize, [u8; RECORD])>,
}

struct Game {
    store: Sim,
    /// The first is the one shown now; the others may come back after a restart, until something is acknowledged.
    worlds: Vec<World>,
    history: History,
    corrupted: bool,
}

impl Game {
    fn call(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0 | 1 => self.begin(u)?,
            2..=6 => self.append(u.arbitrary()?),
            7..=9 => self.learn(u)?,
            10 => self.leave_unfinished(u)?,
            11 | 12 => self.restart(),
            13 | 14 => {
                let tear = *u.choose(&Tear::ALL)?;
                self.store.flash().cut_after(u.int_in_range(0..=60)?, tear, u.arbitrary()?);
            }
            _ if u.ratio(1, 4)? => self.rot(u)?,
            _ => self.check_shown(),
        }
        if self.store.flash().is_off() {
            self.restart();
        }
        Ok(())
    }

    fn begin(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (number, length) = (u.int_in_range(1..=9)?, u.int_in_range(0..=MAX_PREAMBLE + 4)?);
        let preamble = vec![u.arbitrary::<u8>()?; length];
        let fits = length <= MAX_PREAMBLE && self.store.journal().capacity::<Flash>(length) > 0;
        self.history.tasks.push((number, preamble.clone()));
        let task = Some(Task { number, preamble: preamble.clone(), records: Vec::new() });
        let world = World { task, running: true, ..self.worlds[0].clone() };
        let done = self.store.begin_task(number, &preamble);
        assert_eq!(done == Err(Error::TooLarge), !fits);
        self.settle(done, world);
        Ok(())
    }

    fn append(&mut self, record: [u8; RECORD]) {
        let mut world = self.worlds[0].clone();
        let Some(task) = &mut world.task else {
            return assert_eq!(self.store.append(&record), Err(Error::NotOpen));
        };
        self.history.records.push((task.number, task.records.len(), record));
        task.records.push(record);
        let done = self.store.append(&record);
        self.settle(done, world);
    }

    fn learn(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (tag, length) = (u.int_in_range(0..=9)?, u.int_in_range(0..=1000usize)?);
        let payload: Vec<u8> = (0..length).map(|i| (i as u8).wrapping_mul(tag as u8 + 3)).collect();
        let piece = u.int_in_range(1..=200)?;
        self.history.knowledge.push((tag, payload.clone()));
        let world =
            World { knowledge: Some((tag, payload.clone())), running: false, ..self.worlds[0].clone() };
        let done = write(&mut self.store, &payload, piece).and_then(|()| {
            self.store.finish_knowledge()?;
            self.store.commit_knowledge(tag).map(drop)
        });
        if done == Err(Error::TooLarge) {
            assert!(length > 2 * SECTOR - 128);
        }
        self.settle(done, world);
        Ok(())
    }

    /// Knowledge that is begun and never committed changes nothing.
    fn leave_unfinished(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let payload = vec![u.arbitrary::<u8>()?; u.int_in_range(0..=300)?];
        let done = write(&mut self.store, &payload, 64);
        if done.is_ok() && u.arbitrary()? {
            let _ = self.store.finish_knowledge();
        }
        Ok(())
    }

    /// What an operation leaves: its world if it was acknowledged, else perhaps.
    fn settle(&mut self, done: std::result::Result<(), Error>, world: World) {
        match done {
            Ok(()) => self.worlds = vec![world],
            Err(Error::TooLarge | Error::Full | Error::NotOpen) => {}
            Err(_) => self.worlds.push(world),
        }
        if !self.store.flash().is_off() {
            self.check_shown();
        }
    }

    fn restart(&mut self) {
        let mut flash = self.flash();
        flash.power_up();
        self.store = Store::open(flash, LAYOUT).expect("damage never stops a start");
        let shown = self.show();
        self.check_history(&shown);
        if self.corrupted {
            self.worlds = vec![shown];
            return;
        }
        let Some(which) = self.worlds.iter().position(|world| *world == shown) else {
            panic!("{shown:?}\nis none of {:#?}", self.worlds);
        };
        self.worlds.swap(0, which);
    }

    fn flash(&mut self) -> Flash {
        std::mem::replace(&mut self.store, empty()).release()
    }

    fn rot(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        self.corrupted = true;
        let flash = self.store.flash();
        let at = u.int_in_range(0..=8 * SECTOR - 1)?;
        match u.int_in_range(0..=2)? {
            0 => flash.flip(at * 8 + usize::from(u.int_in_range(0..=7u8)?)),
            1 => flash.damage(at),
            _ => flash.stick(at),
        }
        self.restart();
        Ok(())
    }

    fn check_shown(&mut self) {
        let shown = self.show();
        self.check_history(&shown);
        // After a write that failed without a power cut, the storage may know better than to trust what it wrote.
        let known = self.corrupted || shown == self.worlds[0];
        assert!(known, "{shown:?}\nis not {:?}", self.worlds[0]);
        if self.corrupted {
            self.worlds[0] = shown;
        }
    }

    fn check_history(&self, shown: &World) {
        let History { knowledge, tasks, records } = &self.history;
        assert!(shown.knowledge.iter().all(|shown| knowledge.contains(shown)), "invented: {shown:?}");
        if let Some(task) = &shown.task {
            assert!(tasks.contains(&(task.number, task.preamble.clone())), "invented: {task:?}");
            let written = |(i, record): (usize, &[u8; RECORD])| records.contains(&(task.number, i, *record));
            assert!(task.records.iter().enumerate().all(written), "invented: {task:?}");
        }
    }

    /// All that can be read. Knowledge that rotted since it was found is as good as none.
    fn show(&mut self) -> World {
        let store = &mut self.store;
        let knowledge = store.knowledge().and_then(|slot| {
            let mut bytes = vec![0; slot.length as usize];
            store.read_knowledge(0, &mut bytes).ok().map(|()| (slot.tag, bytes))
        });
        let task = store.last_task().and_then(|task| {
            let mut preamble = [0; MAX_PREAMBLE];
            let preamble = store.preamble(&mut preamble).ok()?.to_vec();
            let records = (0..).map_while(|index| store.record(index)).collect();
            Some(Task { number: task.number, preamble, records })
        });
        World { knowledge, running: store.running().is_some(), task }
    }
}

fn empty() -> Sim {
    Store::open(Flash::new(8 * SECTOR), LAYOUT).expect("the layout fits")
}

fn write(store: &mut Sim, payload: &[u8], piece: usize) -> std::result::Result<(), Error> {
    store.open_knowledge()?;
    payload.chunks(piece).try_for_each(|chunk| store.write_knowledge(chunk))
}
