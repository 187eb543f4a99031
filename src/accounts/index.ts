// What other parts use of accounts.

export type { AccountServices } from './part.ts';
