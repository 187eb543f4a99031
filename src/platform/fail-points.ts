/** Places where a crash test kills the process: each stands at a commit boundary. */
export type FailPoint =
  | 'run.before-commit'
  | 'run.committed'
  | 'run.started'
  | 'run.cancelled'
  | 'step.called'
  | 'step.recorded'
  | 'schedule.committed'
  | 'audit.recorded'
  | 'delivery.leased'
  | 'delivery.sent'
  | 'delivery.recorded'
  | 'delivery.followed'
  | 'delivery.replayed'
  | 'delivery.discarded'
  | 'delivery.recovered'
  | 'retry.claimed'
  | 'retry.sent'
  | 'retry.recorded'
  | 'subscription.changed'
  | 'subscription.deleted';

let armed: string | undefined;

/** Arms one fail point for this process's life. `readEnv` refuses it in production. */
export function armFailPoint(name: string | undefined): void {
  armed = name;
}

/** Dies here, at once and without a word, when a test armed this place. */
export function failPoint(name: FailPoint): void {
  if (armed === name) process.kill(process.pid, 'SIGKILL');
}
