/** Entry point of a product process whose death is noticed within five seconds. */
import { noticeWithin } from './notice-within.ts';

noticeWithin(5_000);
await import('../../workers/main.ts');
