/** One id per row: Temporal refuses a second start of the same workflow, whichever process makes it. */
export const jobWorkflowId = (job: string, id: string) => `${job}-${id}`;

/** The key of a job's reservation. */
export const creditKey = (job: string, id: string) => `${job}:${id}`;
