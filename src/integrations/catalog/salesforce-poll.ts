import { createHash } from 'node:crypto';
import { z } from 'zod';
import { clock } from '../../platform/clock.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderCall } from '../calls/provider-call.ts';
import type { Poll } from '../definition/integration.ts';
import { queryRequest } from './salesforce-query.ts';

/** The query of a poll: records of an object, in the order of a time that Salesforce sets when it saves them. */
interface Source {
  object: 'Contact' | 'Opportunity';
  stamp: 'CreatedDate' | 'SystemModstamp';
  fields: readonly string[];
  eventOf(found: Found): { trigger: string; key: string; data: unknown };
}

interface Found {
  Id: string;
  at: string;
  StageName?: string | null | undefined;
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 12);

const contacts: Source = {
  object: 'Contact',
  // A contact that is changed later has another SystemModstamp, and is no new one.
  stamp: 'CreatedDate',
  fields: [],
  eventOf: ({ Id, at }) => ({
    trigger: 'contact_created',
    key: `contact_created:${Id}`,
    data: { contactId: Id, occurredAt: at },
  }),
};

const opportunities: Source = {
  object: 'Opportunity',
  stamp: 'SystemModstamp',
  fields: ['StageName'],
  eventOf: ({ Id, at, StageName }) => ({
    // Times have whole seconds: another stage within the same one is another event.
    trigger: 'deal_updated',
    key: `deal_updated:${Id}:${at}:${hashOf(StageName ?? '')}`,
    data: { dealId: Id, property: 'StageName', value: StageName ?? '', occurredAt: at },
  }),
};

/**
 * How far before the newest seen record a round begins. Times are set when a transaction saves, and records become
 * visible when it commits: a long transaction reveals records with earlier times.
 */
const overlapMs = 120_000;
const perPage = 200;
/** Maximum number of changes in the overlap that are remembered as published. A forgotten one has the same key when it comes again. */
const maxPublished = 500;

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const idPattern = /^[A-Za-z0-9]{15,18}$/;
const time = z.string().regex(timePattern);

/** How far an object was read. Times are Salesforce's own, so that its clock and ours need not agree. */
const placeSchema = z.object({
  /**
   * Whether the account could read the object at any time. The object begins at the first round that can read it. Places
   * that an earlier version wrote do not say it.
   */
  wasRead: z.boolean().optional(),
  /** Records that are not later are not published. */
  after: time,
  /** The newest time seen; `seenMs`: when it was seen, by our clock. */
  newest: time,
  seenMs: z.number(),
  /** Where the next round begins. */
  from: time,
  /** Within a round that is under way. */
  at: z.object({ time, id: z.string().regex(idPattern) }).optional(),
  /** Short hashes of the last keys that were published. */
  published: z.array(z.string().max(20)).max(maxPublished),
});
type Place = z.infer<typeof placeSchema>;
const cursorSchema = z.object({ Contact: placeSchema, Opportunity: placeSchema });

const epoch = '1970-01-01T00:00:00.000Z';

const publishedAfter = (published: readonly string[], more: readonly string[]) =>
  [...published, ...more].slice(-maxPublished);

/** `2026-11-20T09:30:00.000+0000`, as Salesforce writes it. */
const stamp = z
  .string()
  .max(40)
  .transform((text, { addIssue }) => {
    const at = Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
    if (Number.isFinite(at) && at >= 0 && at < 253_402_300_800_000) return new Date(at).toISOString();
    addIssue({ code: 'custom', message: 'no time' });
    return z.NEVER;
  });

const recordOf = (source: Source) =>
  z
    .object({ Id: z.string().regex(idPattern), [source.stamp]: stamp, StageName: z.string().max(1_000).nullish() })
    .transform((record): Found => {
      const { Id, StageName } = record as { Id: string; StageName?: string | null };
      return { Id, StageName, at: (record as Record<string, unknown>)[source.stamp] as string };
    });

/** Contains only constants of this file, and times and ids that match their patterns. */
function soqlOf({ object, stamp: name, fields }: Source, conditions: string, order: string): string {
  const where = conditions === '' ? '' : ` WHERE ${conditions}`;
  return `SELECT ${['Id', name, ...fields].join(', ')} FROM ${object}${where} ORDER BY ${order}`;
}

interface Page {
  found: Found[];
  /** Whether there may be others: Salesforce may answer with fewer records than were asked for. */
  isMore: boolean;
}

/** @returns undefined for an object that this account cannot read */
async function read(source: Source, soql: string, call: ProviderCall): Promise<Page | undefined> {
  const schema = z.object({ records: z.array(recordOf(source)).max(perPage), done: z.boolean().default(true) });
  try {
    const { records: found, done } = await call.request(queryRequest(soql), schema);
    return { found, isMore: found.length > 0 && (!done || found.length === perPage) };
  } catch (error) {
    const cannot = error instanceof IntegrationFailure && error.kind === 'invalid_payload';
    if (cannot && /^INVALID_(TYPE|FIELD)$/.test(error.providerCode ?? '')) return undefined;
    throw error;
  }
}

const nothing: Page = { found: [], isMore: false };

const earlier = (at: string) => new Date(Math.max(0, Date.parse(at) - overlapMs)).toISOString();
const later = (a: string, b: string) => (a > b ? a : b);

/**
 * The starting point: existing records are not published, and records that are saved later within the same second are.
 */
async function begin(source: Source, call: ProviderCall, now: number): Promise<Place> {
  const page = await read(source, `${soqlOf(source, '', `${source.stamp} DESC`)} LIMIT ${perPage}`, call);
  const { found, isMore } = page ?? nothing;
  const wasRead = page !== undefined;
  const newest = found[0]?.at ?? epoch;
  const oldest = isMore ? found.at(-1)!.at : epoch;
  const after = later(earlier(newest), oldest);
  const published = found.filter(({ at }) => at > after).map((record) => hashOf(source.eventOf(record).key));
  return { wasRead, after, newest, seenMs: now, from: after, published };
}

/** The next page of a round, or the first one of another. */
async function next(source: Source, place: Place, call: ProviderCall, now: number) {
  const { stamp: name, eventOf } = source;
  const { after, from, at, published } = place;
  // A whole page may have the same time: the id continues within it.
  const condition = at
    ? `((${name} = ${at.time} AND Id > '${at.id}') OR ${name} > ${at.time})`
    : after >= from
      ? `${name} > ${after}`
      : `${name} >= ${from}`;
  const page = await read(source, `${soqlOf(source, condition, `${name}, Id`)} LIMIT ${perPage}`, call);
  const { found, isMore } = page ?? nothing;
  const last = found.at(-1);
  const events = found.map(eventOf).filter(({ key }) => !published.includes(hashOf(key)));
  const newest = last ? later(place.newest, last.at) : place.newest;
  // This round saw everything that was committed before it. Later commits have times of which this page saw the first.
  const nextFrom = at ? from : earlier(newest);
  // A round that loses access to the object has not seen everything.
  const isSettled = page !== undefined && !isMore && newest === place.newest && now - place.seenMs >= overlapMs;
  const following: Place = {
    wasRead: page !== undefined || (place.wasRead ?? place.newest !== epoch),
    after: isSettled ? newest : after,
    newest,
    seenMs: newest === place.newest ? place.seenMs : now,
    from: nextFrom,
    ...(isMore && last && { at: { time: last.at, id: last.Id } }),
    published: publishedAfter(
      published,
      events.map(({ key }) => hashOf(key)),
    ),
  };
  return { events, place: following, isMore };
}

/**
 * New contacts and saved opportunities, queried in SOQL: two requests each time.
 * @param clock in milliseconds
 */
export const salesforcePollBy = (clock: () => number): Poll => ({
  everySeconds: 60,
  async poll(cursor, call) {
    const now = clock();
    if (cursor === null) {
      const [Contact, Opportunity] = [await begin(contacts, call, now), await begin(opportunities, call, now)];
      return { events: [], cursor: JSON.stringify({ Contact, Opportunity }), more: false };
    }
    const places = cursorSchema.parse(JSON.parse(cursor));
    // An object that was read to its end waits for the other one, so that a round of it begins every minute and not sooner.
    const isUnderWay = places.Contact.at !== undefined || places.Opportunity.at !== undefined;
    const step = async (source: Source, place: Place) => {
      if (isUnderWay && place.at === undefined) return { events: [], place, isMore: false };
      if (place.wasRead !== false) return next(source, place, call, now);
      return { events: [], place: await begin(source, call, now), isMore: false };
    };
    const one = await step(contacts, places.Contact);
    const other = await step(opportunities, places.Opportunity);
    return {
      events: [...one.events, ...other.events],
      cursor: JSON.stringify({ Contact: one.place, Opportunity: other.place }),
      more: one.isMore || other.isMore,
    };
  },
});

export const salesforcePoll = salesforcePollBy(clock.now);
