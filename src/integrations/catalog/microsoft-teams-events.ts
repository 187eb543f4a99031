import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderCall, ProviderRequest } from '../calls/provider-call.ts';
import { type Inbound, type InboundRequest, maxUnsignedBytes, type Notice } from '../definition/inbound.ts';
import type { MissedPage, PushResources, PushSubscription } from '../definition/integration.ts';

export const teamPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** `19:4a95f7d8db4c4e7fae857bcebe0623e6@thread.tacv2`. No slash, no dots alone. */
export const channelPattern = /^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,199}$/;
const messagePattern = /^\d{1,20}$/;

interface Place {
  team: string;
  channel: string;
}

export const messagesPath = ({ team, channel }: Place): string =>
  `/v1.0/teams/${encodeURIComponent(team)}/channels/${encodeURIComponent(channel)}/messages`;

/** `teams('<id>')/channels('<id>')/messages('<id>')`, and the same with `/replies('<id>')`. */
const resourcePattern =
  /^\/?teams\('([^']+)'\)\/channels\('([^']+)'\)\/messages\('([^']+)'\)(?:\/replies\('([^']+)'\))?$/;

/** Where a message is, if a resource is the address of one in a channel: it comes from outside, and is fetched. */
export function readResource(resource: string): (Place & Record<string, string>) | undefined {
  const [, team = '', channel = '', message = '', reply] = resourcePattern.exec(resource) ?? [];
  const isMessage = [message, ...(reply === undefined ? [] : [reply])].every((id) => messagePattern.test(id));
  if (!isMessage || !teamPattern.test(team) || !channelPattern.test(channel)) return undefined;
  return { team, channel, message, ...(reply !== undefined && { reply }) };
}

const reference = z.object({
  team: z.string().regex(teamPattern),
  channel: z.string().regex(channelPattern),
  message: z.string().regex(messagePattern),
  reply: z.string().regex(messagePattern).optional(),
});

const text = z.string().max(1_000);
/** https://learn.microsoft.com/graph/api/resources/changenotification, and the same for lifecycle notifications. */
const notification = z.object({
  // It is looked up.
  subscriptionId: text.refine((id) => !id.includes('\0')),
  clientState: text.nullish(),
  tenantId: text.nullish(),
  organizationId: text.nullish(),
  changeType: text.nullish(),
  resource: text.nullish(),
  lifecycleEvent: text.nullish(),
  resourceData: z.unknown().optional(),
});
const collection = z.object({ value: z.array(notification).min(1).max(1_000) });

const lifecycles: Readonly<Record<string, Notice['lifecycle']>> = {
  reauthorizationRequired: 'renew',
  subscriptionRemoved: 'removed',
  missed: 'missed',
};

const hashOf = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** The same for an event that is sent twice. */
function keyOf(resource: string, changeType: string): string {
  const key = `${resource}:${changeType}`;
  return key.length <= 300 ? key : hashOf(key);
}

function noticeOf(item: z.infer<typeof notification>, whole: unknown): Notice {
  const { subscriptionId, changeType, resource, lifecycleEvent } = item;
  const about = {
    accountId: item.tenantId ?? item.organizationId ?? '',
    subscriptionId,
    ...(typeof item.clientState === 'string' && { clientState: item.clientState }),
  };
  const lifecycle = lifecycles[lifecycleEvent ?? ''];
  // Two of them differ in their expiration at least.
  if (lifecycleEvent) return { ...about, key: hashOf(whole), ...(lifecycle && { lifecycle }) };
  const where = changeType === 'created' ? readResource(resource ?? '') : undefined;
  const keyed = { ...about, key: keyOf(String(resource), String(changeType)) };
  if (!where) return keyed;
  // Graph itself sends only ids. In the sandbox the sender has no message that could be fetched.
  const { data: message } = chatMessage.safeParse(item.resourceData);
  if (!message) return { ...keyed, trigger: 'message_received', reference: where };
  const data = dataOf(where, message);
  return data === undefined ? keyed : { ...keyed, trigger: 'message_received', data };
}

const read = ({ json }: InboundRequest) => collection.safeParse(json).data?.value;

const person = z.object({ id: z.string().max(200).nullish() }).nullish();
const chatMessage = z.object({
  id: z.string().regex(messagePattern),
  messageType: z.string().nullish(),
  deletedDateTime: z.string().nullish(),
  from: z.object({ user: person, application: person }).nullish(),
  body: z.object({ contentType: z.string().nullish(), content: z.string().nullish() }),
});

const maxTextLength = 40_000;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ', '#39': "'" };

/** The text of a message in HTML. Teams writes a small part of HTML, in which text needs only these entities. */
export const textOf = (html: string): string =>
  html
    .replace(/<(?:br|\/p|\/div|\/li)\b[^<>]{0,200}>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(amp|lt|gt|quot|nbsp|#39);/g, (_, name: string) => entities[name]!)
    .trim();

/** @param self the account's own id @returns undefined for what is no message of another person */
function dataOf({ team, channel }: Place, message: z.infer<typeof chatMessage>, self?: string): unknown {
  const { from, body, deletedDateTime, messageType } = message;
  if (deletedDateTime || (messageType ?? 'message') !== 'message') return undefined;
  const user = from?.user?.id ?? from?.application?.id;
  // Without this, an account that answers each message would answer its own messages for ever.
  if (!user || user === self) return undefined;
  const content = body.content ?? '';
  const words = body.contentType === 'html' ? textOf(content) : content;
  return { channel: `${team}/${channel}`, user, text: words.slice(0, maxTextLength), ts: message.id };
}

async function fetchMessage(given: Record<string, string>, call: ProviderCall): Promise<unknown> {
  const { data: at } = reference.safeParse(given);
  if (!at) return undefined;
  const path = `${messagesPath(at)}/${at.message}${at.reply === undefined ? '' : `/replies/${at.reply}`}`;
  const message = await unlessGone(call, { method: 'GET', path }, chatMessage);
  return message && dataOf(at, message, call.account.details.user);
}

/** @returns undefined for what the provider does not have any more */
const unlessGone = <Schema extends z.ZodType>(call: ProviderCall, request: ProviderRequest, schema: Schema) =>
  unless(isGone, call.request(request, schema));

async function unless<Answer>(isExpected: (error: unknown) => boolean, answer: Promise<Answer>) {
  try {
    return await answer;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/** Our code for an answer with status 404. */
export const notFound = 'NotFound';

export const isGone = (error: unknown): error is IntegrationFailure =>
  error instanceof IntegrationFailure && error.kind === 'action_failed' && error.providerCode === notFound;

/** Change notifications of Microsoft Graph: unsigned, proven by the `clientState` of the subscription. */
export const teamsInbound: Inbound = {
  acknowledged: 202,
  handshake: {
    answers: 'text',
    isSigned: false,
    answer({ query }) {
      const token = query.get('validationToken');
      return token !== null && /^[\x20-\x7e]{1,4096}$/.test(token) ? { text: token } : undefined;
    },
  },
  notices(request) {
    const items = read(request);
    const wholes = (request.json as { value?: unknown[] } | undefined)?.value ?? [];
    return items?.map((item, index) => noticeOf(item, wholes[index]));
  },
  maxBodyBytes: () => maxUnsignedBytes,
  verify: (request, secret) =>
    read(request)?.every(({ clientState }) => isSameSecret(clientState ?? undefined, secret)) ?? false,
  fetch: fetchMessage,
};

/** Whether Graph refused a request, and would do so again. */
const isRefused = (error: unknown): boolean =>
  error instanceof IntegrationFailure && (error.kind === 'action_failed' || error.kind === 'invalid_payload');

const link = z.url().max(8_000).optional();
const channels = z.object({
  value: z.array(z.object({ id: z.string().max(200) })).max(1_000),
  '@odata.nextLink': link,
});
const subscription = z.object({ id: z.string().min(1).max(200), expirationDateTime: z.string().max(50) });
/** Channels of a team that are followed. */
const maxChannels = 500;
/** Maximum of one list: a provider could otherwise return empty pages for ever. */
const maxChannelPages = 100;
const subscriptionPath = (id: string) => `/v1.0/subscriptions/${encodeURIComponent(id)}`;

function endOf({ expirationDateTime }: z.infer<typeof subscription>, asked: Date): Date {
  const at = Date.parse(expirationDateTime);
  return Number.isFinite(at) ? new Date(Math.min(at, asked.getTime())) : asked;
}

/** Channels of the first team: an account may subscribe to single channels, and only applications to the whole tenant. */
async function channelResources(call: ProviderCall): Promise<PushResources> {
  const { team } = call.account.details;
  if (team === undefined) return { resources: [] };
  const path = `/v1.0/teams/${encodeURIComponent(team)}/channels`;
  const ids = new Set<string>();
  let query: Record<string, string> | undefined = { $select: 'id' };
  for (let pages = 0; query && pages < maxChannelPages && ids.size <= maxChannels; pages++) {
    const page: z.infer<typeof channels> = await call.request({ method: 'GET', path, query }, channels);
    for (const { id } of page.value) if (channelPattern.test(id)) ids.add(id);
    const next = page['@odata.nextLink'];
    query = next === undefined ? undefined : call.queryOf(next);
  }
  const resources = [...ids].slice(0, maxChannels).map((id) => `/teams/${team}/channels/${id}/messages`);
  if (query === undefined && ids.size <= maxChannels) return { resources };
  return { resources, exceeded: new IntegrationFailure('action_failed', { providerCode: 'too_many_channels' }) };
}

const channelResource = /^\/teams\/([^/]+)\/channels\/([^/]+)\/messages$/;
const listed = z.array(z.object({ id: z.string().max(200), createdDateTime: z.string().max(50) }));
const changed = z.object({ value: listed.max(200), '@odata.nextLink': link, '@odata.deltaLink': link });
const replies = z.object({ value: listed.max(200), '@odata.nextLink': link });
const perPage = '50';
/** For each message: the latest ones. */
const maxReplies = 500;
/** For each message: its pages may be smaller than we ask for. */
const maxReplyPages = 10;
/** In one page of missed replies. The last message may exceed it. */
const maxReplyRequests = 10;
/** In one page of missed replies, which has those to another message as long as it has room for all of them. */
const maxMissedReplies = 1_000;

const listPlace = z.object({
  /** The time since which the list has messages. */
  since: z.iso.datetime(),
  /** The query of its next page. */
  query: z.record(z.string(), z.string()),
  /** Messages of the pages before, whose replies come before the next page. */
  chains: z.array(z.string().regex(messagePattern)).max(200).optional(),
  /** Whether the list ends with these replies: the next page is one of a list of what happens later. */
  isLast: z.boolean().optional(),
});
type ListPlace = z.infer<typeof listPlace>;

const firstPage = (since: Date): ListPlace => ({
  since: since.toISOString(),
  query: { $filter: `lastModifiedDateTime gt ${since.toISOString()}`, $top: perPage },
});

/** An event as its notification would have it. @returns undefined for an item that was posted before */
function missedEvent(resource: string, createdDateTime: string, since: string) {
  const at = readResource(resource);
  if (!at || !(Date.parse(createdDateTime) > Date.parse(since))) return undefined;
  return { key: keyOf(resource, 'created'), trigger: 'message_received', reference: at };
}

/**
 * A page of the messages that were missed in a channel. https://learn.microsoft.com/graph/api/chatmessage-delta lists
 * each message that was posted, changed or replied to, without its replies: they are listed message by message.
 */
async function missedMessages(resource: string, cursor: string, call: ProviderCall): Promise<MissedPage> {
  const [, team = '', channel = ''] = channelResource.exec(resource) ?? [];
  const place = listPlace.parse(JSON.parse(cursor));
  if (place.chains?.length) return missedReplies({ team, channel }, place, call);
  const path = `${messagesPath({ team, channel })}/delta`;
  const { since, query } = place;
  const first = firstPage(new Date(since)).query;
  const read = (asked: Record<string, string>) => call.request({ method: 'GET', path, query: asked }, changed);
  const page = await read(query).catch((error) => {
    // Graph may forget the place, so the list begins again.
    if (isDeepStrictEqual(query, first) || !isRefused(error)) throw error;
    return read(first);
  });
  const events = page.value
    .map(({ id, createdDateTime }) => missedEvent(resourceOf({ team, channel }, id), createdDateTime, since))
    .filter((event) => event !== undefined);
  const { '@odata.nextLink': nextLink, '@odata.deltaLink': deltaLink } = page;
  const after = nextLink ?? deltaLink;
  const next: ListPlace = {
    since,
    query: after === undefined ? first : call.queryOf(after),
    chains: page.value.map(({ id }) => id).filter((id) => messagePattern.test(id)),
    isLast: nextLink === undefined,
  };
  return pageOf(events, next);
}

const resourceOf = ({ team, channel }: Place, id: string) =>
  `teams('${team}')/channels('${channel}')/messages('${id}')`;

const pageOf = (
  events: MissedPage['events'],
  { since, query, chains = [], isLast = false }: ListPlace,
): MissedPage => ({
  events,
  cursor: JSON.stringify(chains.length > 0 ? { since, query, chains, isLast } : { since, query }),
  more: chains.length > 0 || !isLast,
});

/** The replies to some of the messages that wait for it. */
async function missedReplies(at: Place, place: ListPlace, call: ProviderCall): Promise<MissedPage> {
  const events: MissedPage['events'] = [];
  const chains = [...place.chains!];
  let requests = 0;
  while (chains.length > 0 && requests < maxReplyRequests && events.length <= maxMissedReplies - maxReplies) {
    const found = await missedRepliesTo(at, chains.shift()!, place.since, call);
    requests += found.requests;
    events.push(...found.events);
  }
  return pageOf(events, { ...place, chains });
}

/** The latest replies to one message, of those that were missed. A message that was deleted has none. */
async function missedRepliesTo(at: Place, message: string, since: string, call: ProviderCall) {
  const path = `${messagesPath(at)}/${message}/replies`;
  const found: z.infer<typeof listed> = [];
  let query: Record<string, string> | undefined = { $top: perPage };
  let requests = 0;
  for (; query && requests < maxReplyPages && found.length < maxReplies; requests++) {
    const page: z.infer<typeof replies> | undefined = await unless(
      isRefused,
      call.request({ method: 'GET', path, query }, replies),
    );
    found.push(...(page?.value ?? []));
    const next: string | undefined = page?.['@odata.nextLink'];
    query = next === undefined ? undefined : call.queryOf(next);
  }
  const events = found
    .slice(0, maxReplies)
    .map(({ id, createdDateTime }) =>
      missedEvent(`${resourceOf(at, message)}/replies('${id}')`, createdDateTime, since),
    )
    .filter((event) => event !== undefined);
  return { events, requests };
}

/** https://learn.microsoft.com/graph/teams-changenotifications-chatmessage */
export const teamsPush: PushSubscription = {
  // Two of the three days that are allowed with lifecycle notifications.
  lastsSeconds: 2 * 86_400,
  resources: channelResources,
  async create({ url, lifecycleUrl, clientState, endsAt, resource }, call) {
    const wanted = resource ?? (await channelResources(call)).resources[0];
    if (wanted === undefined) throw new IntegrationFailure('action_failed', { providerCode: 'no_channel' });
    const json = {
      changeType: 'created',
      notificationUrl: url,
      lifecycleNotificationUrl: lifecycleUrl,
      resource: wanted,
      expirationDateTime: endsAt.toISOString(),
      clientState,
      latestSupportedTlsVersion: 'v1_2',
    };
    const made = await call.request({ method: 'POST', path: '/v1.0/subscriptions', json }, subscription);
    return { id: made.id, endsAt: endOf(made, endsAt) };
  },
  async renew(id, endsAt, call) {
    const json = { expirationDateTime: endsAt.toISOString() };
    const renewed = await unlessGone(call, { method: 'PATCH', path: subscriptionPath(id), json }, subscription);
    if (!renewed) throw new IntegrationFailure('action_failed', { providerCode: 'gone' });
    return { endsAt: endOf(renewed, endsAt) };
  },
  missed: { begin: (since) => JSON.stringify(firstPage(since)), read: missedMessages },
  async remove(id, call) {
    await unlessGone(call, { method: 'DELETE', path: subscriptionPath(id) }, z.unknown());
  },
};
