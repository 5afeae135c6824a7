//! Use of memory, for INFO and for MEMORY.

use super::text::{Text, percent, ratio};
use command::Call;
use session::{BASE_BYTES, Instance};
use std::sync::atomic::Ordering::Relaxed;

/// Size of a bucket of the index, in bytes.
const BUCKET_BYTES: u64 = 64;

/// Memory figures of one moment, in bytes unless stated otherwise.
pub(in super::super) struct MemoryFacts {
    /// Memory of keys, their index and everything else.
    pub used: u64,
    /// Highest `used` that was measured.
    pub peak: u64,
    /// Resident memory of the process.
    pub resident: u64,
    /// Memory of clients.
    pub clients: u64,
    /// Used memory of an empty server.
    pub base: u64,
    /// Memory that the server has for itself, and that does not count.
    pub fixed: u64,
    /// Memory of all indexes.
    pub index: u64,
    /// Live records that can be reached.
    pub dataset: u64,
    /// Live records, those of flushed databases included.
    pub live: u64,
    /// Live records of flushed databases, which wait for lazy free.
    pub dying: u64,
    /// Resident segments, in use or pooled.
    pub touched: u64,
    /// Resident segments that are empty.
    pub pooled: u64,
    /// Number of keys.
    pub keys: u64,
}

impl MemoryFacts {
    pub fn of(instance: &Instance) -> MemoryFacts {
        let store = &instance.store;
        let other = instance.memory.other_bytes.load(Relaxed);
        let (live, index) = (store.live_bytes(), store.index_bytes());
        let dataset = store.used_bytes().saturating_sub(index);
        let clients = instance.clients.memory().min(other);
        let used = dataset + index + other;
        let resident = base::process::resident_bytes();
        instance.memory.resident_peak.fetch_max(resident, Relaxed);
        let peak = instance.memory.used_peak.fetch_max(used, Relaxed).max(used);
        MemoryFacts {
            used,
            peak,
            resident,
            clients,
            base: (other - clients).min(BASE_BYTES),
            fixed: instance.memory.fixed_bytes.load(Relaxed),
            index,
            dataset,
            live,
            dying: live.saturating_sub(dataset),
            touched: store.heap().touched_bytes(),
            pooled: store.heap().pooled_bytes(),
            keys: (0..store.databases()).map(|database| store.len(database)).sum(),
        }
    }

    /// Used memory that is not data of keys.
    pub fn overhead(&self) -> u64 {
        self.used - self.dataset
    }

    /// Memory taken from the system, for data and everything else.
    pub fn active(&self) -> u64 {
        self.touched + self.overhead()
    }

    /// Utilisation: live bytes over all bytes of the segments in use.
    pub fn utilisation(&self) -> f64 {
        ratio(self.live, self.touched.saturating_sub(self.pooled))
    }

    /// Data of keys in percent of used memory beyond the base.
    pub fn dataset_percent(&self) -> f64 {
        percent(self.dataset, self.used - self.base)
    }

    /// Used memory in percent of the peak.
    pub fn peak_percent(&self) -> f64 {
        percent(self.used, self.peak)
    }

    /// Returns by how many bytes `more` is above `less`; negative if it is below.
    pub fn excess(more: u64, less: u64) -> i64 {
        more as i64 - less as i64
    }
}

pub(super) fn memory(text: &mut Text, call: &mut Call<'_>) {
    let facts = MemoryFacts::of(call.instance);
    usage(text, &facts);
    scripts(text, call.instance);
    limits(text, call);
    fragmentation(text, call, &facts);
    segments(text, call, &facts);
}

fn usage(text: &mut Text, facts: &MemoryFacts) {
    text.bytes("used_memory", facts.used);
    text.bytes("used_memory_rss", facts.resident);
    text.bytes("used_memory_peak", facts.peak);
    text.field("used_memory_peak_perc", format_args!("{:.2}%", facts.peak_percent()));
    text.field("used_memory_overhead", facts.overhead());
    text.field("used_memory_startup", facts.base);
    text.field("server_memory", facts.fixed);
    text.field("used_memory_dataset", facts.dataset);
    text.field("used_memory_dataset_perc", format_args!("{:.2}%", facts.dataset_percent()));
    text.field("allocator_allocated", facts.used);
    text.field("allocator_active", facts.active());
    text.field("allocator_resident", facts.resident);
    text.field("allocator_muzzy", 0);
    text.bytes("total_system_memory", base::process::machine_bytes());
}

/// Memory of interpreters, and of the sources of scripts and libraries.
fn scripts(text: &mut Text, instance: &Instance) {
    let (scripts, table) = (&instance.scripts, instance.libraries.table());
    let of_scripts = scripts.interpreters.bytes() as u64;
    let of_functions = instance.libraries.interpreters.bytes() as u64;
    let sources = if scripts.cache.is_empty() { 0 } else { scripts.cache.bytes() as u64 };
    let libraries = table.bytes() as u64;
    text.field("used_memory_vm_eval", of_scripts);
    text.bytes("used_memory_lua", of_scripts);
    text.field("used_memory_scripts_eval", sources);
    text.field("number_of_cached_scripts", scripts.cache.len());
    text.field("number_of_functions", table.functions());
    text.field("number_of_libraries", table.libraries().len());
    text.field("used_memory_vm_functions", of_functions);
    text.bytes("used_memory_vm_total", of_scripts + of_functions);
    text.field("used_memory_functions", libraries);
    text.bytes("used_memory_scripts", sources + libraries);
}

fn limits(text: &mut Text, call: &Call<'_>) {
    let settings = &call.instance.settings;
    text.bytes("maxmemory", settings::memory::MAXMEMORY.get(settings));
    text.field("maxmemory_policy", settings::memory::MAXMEMORY_POLICY.get(settings).name());
}

fn fragmentation(text: &mut Text, call: &Call<'_>, facts: &MemoryFacts) {
    let (used, active, resident) = (facts.used, facts.active(), facts.resident);
    let fixed = |ratio: f64| format!("{ratio:.2}");
    let kept = &call.instance.replicas.backlog;
    let of_backlog = kept.bytes_in_memory.load(Relaxed);
    let of_snapshot = kept.snapshot_bytes.load(Relaxed);
    text.fields(&[
        ("allocator_frag_ratio", &fixed(ratio(active, used))),
        ("allocator_frag_bytes", &MemoryFacts::excess(active, used)),
        ("allocator_rss_ratio", &fixed(ratio(resident, active))),
        ("allocator_rss_bytes", &MemoryFacts::excess(resident, active)),
        ("rss_overhead_ratio", &"1.00"),
        ("rss_overhead_bytes", &0),
        ("mem_fragmentation_ratio", &fixed(ratio(resident, used))),
        ("mem_fragmentation_bytes", &MemoryFacts::excess(resident, used)),
        ("mem_not_counted_for_evict", &call.instance.store.retained_in_records()),
        ("mem_replication_backlog", &of_backlog),
        ("mem_total_replication_buffers", &(of_backlog + of_snapshot)),
        ("mem_replicas_repl_buffer", &0),
        ("mem_clients_slaves", &0),
        ("mem_clients_normal", &facts.clients),
        ("mem_waits", &call.instance.waiters.bytes()),
        ("mem_mailboxes", &call.instance.clients.mail_bytes().load(Relaxed)),
        ("mem_cluster_links", &0),
        ("mem_cluster_slot_import", &0),
        ("mem_cluster_slot_export", &0),
        ("mem_aof_buffer", &call.instance.journal.resident_bytes.load(Relaxed)),
        ("mem_allocator", &call.instance.identity.allocator),
        ("mem_overhead_db_hashtable_rehashing", &0),
        ("active_defrag_running", &0),
    ]);
}

fn segments(text: &mut Text, call: &Call<'_>, facts: &MemoryFacts) {
    let totals = call.instance.store.totals();
    let since_reset = call.instance.statistics.since_reset(&totals);
    let load = call.instance.store.index_load_before_growth() * 100.0;
    text.fields(&[
        ("lazyfree_pending_objects", &call.instance.store.waiting_for_lazy_free()),
        ("lazyfreed_objects", &since_reset.lazily_freed),
        ("segments_touched_bytes", &facts.touched),
        ("segments_pooled_bytes", &facts.pooled),
        ("segments_live_bytes", &facts.live),
        ("segments_growth_bytes", &call.instance.store.growth_bytes()),
        ("segments_dying_bytes", &facts.dying),
        ("segments_utilisation", &format!("{:.4}", facts.utilisation())),
        ("index_bytes", &facts.index),
        ("index_buckets", &(facts.index / BUCKET_BYTES)),
        ("index_load_before_growth", &format!("{load:.1}")),
        ("cleaner_bytes_appended", &since_reset.appended_bytes),
        ("cleaner_bytes_moved", &since_reset.moved_bytes),
        ("cleaner_bytes_won", &since_reset.won_bytes),
        ("cleaner_records_moved", &since_reset.moved_records),
        ("cleaner_segments_emptied", &since_reset.cleaned_segments),
        ("cleaner_bytes_evicted", &since_reset.evicted_bytes),
    ]);
}
