import { keyIds } from '../core/ids.ts';

/** The key for which use is counted; null where a person or the product itself asks. @param actor as the audit log names it */
export const keyOfActor = (actor: string): string | null => keyIds.parse(actor) ?? null;
