/** Entry point of a product process that gives what is under way three seconds when it is stopped. */
import { stopSoon } from './notice-within.ts';

stopSoon();
await import('../../workers/main.ts');
