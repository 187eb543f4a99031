/** Entry point of a product process whose death is noticed within three seconds, which is too short for dozens of runs at once. */
import { noticeWithin } from './notice-within.ts';

noticeWithin(3_000);
await import('../../workers/main.ts');
