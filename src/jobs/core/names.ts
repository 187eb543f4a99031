export interface JobName {
  /** Begins the names of its statements and fail points: `voice`. */
  name: string;
  /**
   * The prefix of stored names: its outbox kinds, the keys of its reservations, and the ids of its workflows. By
   * default `name`. It never changes, because rows and workflows outlive an upgrade.
   */
  storedName?: string;
}

export const storedName = ({ name, storedName = name }: JobName): string => storedName;

/** One id per row: Temporal refuses a second start of the same workflow, whichever process makes it. */
export const jobWorkflowId = (job: JobName, id: string) => `${storedName(job)}-${id}`;

/** The key of a job's reservation. */
export const creditKey = (job: JobName, id: string) => `${storedName(job)}:${id}`;
