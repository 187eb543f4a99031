import { hash } from 'node:crypto';
import { type EventBody, subjectOf } from '../core/event-body.ts';

/** Characters of a subject that are kept. */
const maxLength = 100;

/** What deliveries that wait for each other have in common. A long subject is kept as its SHA-256. */
export function orderKeyOf(body: EventBody): string {
  const subject = subjectOf(body);
  return subject.length <= maxLength && !subject.includes('\0') ? subject : `sha256:${hash('sha256', subject, 'hex')}`;
}
