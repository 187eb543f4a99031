export type { CreatedJob, NewJob } from './create-job.ts';
export type { Ending, JobDeclaration, JobTypes, StopReason } from './declaration.ts';
export { defineJob, type Job } from './define-job.ts';
export { DirectWork, type DirectWorkPolicy, defaultDirectWorkPolicy } from './direct-work.ts';
export { recordPatiently } from './end-job.ts';
export { jobSubmission } from './submission.ts';
