// What Python tells of the tasks of a cluster and what went between them: the figures of a step, as the mean of all steps.

/** A task: what its devices did, and what they got from and gave to others. */
export interface Task {
  /** As in `/job:ps/replica:0/task:0`. */
  readonly task: string;
  readonly parameters: number;
  readonly variables: number;
  readonly operation_nanos: number;
  readonly busy_nanos: number;
  readonly idle_nanos: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
  readonly transfer_nanos: number;
  readonly wait_nanos: number;
  /** In which part of the time of its transfers it computed; null where it had none. */
  readonly overlap: number | null;
  readonly offset_nanos: number;
  readonly offset_error_nanos: number | null;
  readonly waited_for_nanos: number;
}

/** What went from one to another. */
interface Moved {
  readonly source: string;
  readonly target: string;
  readonly kind: string;
  readonly count: number;
  readonly bytes: number;
  readonly transfer_nanos: number;
  readonly wait_nanos: number;
}

/** All that went from one task to another in one way. */
export type Link = Moved;

/** A tensor on its way from one device to another. */
export interface MovedTensor extends Moved {
  readonly tensor: string;
}

/** `ClusterSummary.described` of tfprof_widget/analysis/cluster/summary.py. */
export interface Cluster {
  readonly tasks: readonly Task[];
  readonly links: readonly Link[];
  readonly transfers: readonly MovedTensor[];
  readonly transfers_left_out: number;
  /** The most parameters that a server holds, and the mean of all. */
  readonly parameter_balance: { readonly largest: number; readonly mean: number } | null;
  readonly straggler: { readonly task: string; readonly text: string } | null;
  readonly steps: number;
  readonly notes: readonly string[];
}
