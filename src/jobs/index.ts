export type { CreatedJob } from './create-job.ts';
export type { StopReason } from './declaration.ts';
export { defineJob } from './define-job.ts';
export { DirectWork, defaultDirectWorkPolicy } from './direct-work.ts';
export { recordPatiently } from './end-job.ts';
export { jobSubmission } from './submission.ts';
