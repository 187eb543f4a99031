export type { StopReason } from './declaration.ts';
export { type CreatedJob, defineJob } from './define-job.ts';
export { DirectWork, defaultDirectWorkPolicy } from './direct-work.ts';
export { jobSubmission } from './submission.ts';
