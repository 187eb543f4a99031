/** A place in the events of a tenant: behind an event, or before all events of a transaction. */
export interface EventPosition {
  /** The number of the event's transaction. */
  transaction: bigint;
  /** The event; the nil UUID before all events of the transaction. */
  eventId: string;
}

const nilId = '00000000-0000-0000-0000-000000000000';

/** The place before all events of a transaction. */
export const beforeTransaction = (transaction: bigint): EventPosition => ({ transaction, eventId: nilId });

const cursorForm = /^[A-Za-z0-9_-]{32}$/;
const digits = 16;

/** 32 characters, which callers hand back as they are. */
export const formatCursor = ({ transaction, eventId }: EventPosition): string =>
  Buffer.from(transaction.toString(16).padStart(digits, '0') + eventId.replaceAll('-', ''), 'hex').toString(
    'base64url',
  );

/** @returns undefined for a text that no cursor is */
export function parseCursor(cursor: string): EventPosition | undefined {
  if (!cursorForm.test(cursor)) return undefined;
  const hex = Buffer.from(cursor, 'base64url').toString('hex');
  const transaction = BigInt(`0x${hex.slice(0, digits)}`);
  if (transaction >= 2n ** 63n) return undefined;
  const id = hex.slice(digits);
  const eventId = [id.slice(0, 8), id.slice(8, 12), id.slice(12, 16), id.slice(16, 20), id.slice(20)].join('-');
  return { transaction, eventId };
}
