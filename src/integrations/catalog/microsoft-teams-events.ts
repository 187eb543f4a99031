import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderCall, ProviderRequest } from '../calls/provider-call.ts';
import { type Inbound, type InboundRequest, maxUnsignedBytes, type Notice } from '../definition/inbound.ts';
import type { FetchedNotice, PushSubscription } from '../definition/integration.ts';

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
async function unlessGone<Schema extends z.ZodType>(
  call: ProviderCall,
  request: ProviderRequest,
  schema: Schema,
): Promise<z.infer<Schema> | undefined> {
  try {
    return await call.request(request, schema);
  } catch (error) {
    if (isGone(error)) return undefined;
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

const channels = z.object({ value: z.array(z.object({ id: z.string().max(200) })).max(1_000) });
const subscription = z.object({ id: z.string().min(1).max(200), expirationDateTime: z.string().max(50) });
const maxFetches = 50;
const subscriptionPath = (id: string) => `/v1.0/subscriptions/${encodeURIComponent(id)}`;

function endOf({ expirationDateTime }: z.infer<typeof subscription>, asked: Date): Date {
  const at = Date.parse(expirationDateTime);
  return Number.isFinite(at) ? new Date(Math.min(at, asked.getTime())) : asked;
}

/** Channels of the first team: an account may subscribe to single channels, and only applications to the whole tenant. */
async function channelResources(call: ProviderCall): Promise<string[]> {
  const { team } = call.account.details;
  if (team === undefined) return [];
  const request = {
    method: 'GET',
    path: `/v1.0/teams/${encodeURIComponent(team)}/channels`,
    query: { $select: 'id' },
  } as const;
  const { value } = await call.request(request, channels);
  const ids = value.map(({ id }) => id).filter((id) => channelPattern.test(id));
  return ids.slice(0, maxFetches).map((id) => `/teams/${team}/channels/${id}/messages`);
}

const channelResource = /^\/teams\/([^/]+)\/channels\/([^/]+)\/messages$/;
const changed = z.object({
  value: z.array(z.object({ id: z.string(), createdDateTime: z.string().max(50) })).max(1_000),
  '@odata.nextLink': z.string().max(8_000).optional(),
});
const [changedPages, changedPerPage] = [10, 50];

/**
 * Messages that were posted to a channel, by https://learn.microsoft.com/graph/api/chatmessage-delta, which does not
 * return replies: missed replies are not recovered.
 */
async function missedMessages(resource: string, since: Date, call: ProviderCall): Promise<FetchedNotice[]> {
  const [, team = '', channel = ''] = channelResource.exec(resource) ?? [];
  const path = `${messagesPath({ team, channel })}/delta`;
  const found = new Map<string, FetchedNotice>();
  let query: Record<string, string> | undefined = {
    $filter: `lastModifiedDateTime gt ${since.toISOString()}`,
    $top: String(changedPerPage),
  };
  for (let pages = 0; query && pages < changedPages; pages++) {
    const page: z.infer<typeof changed> = await call.request({ method: 'GET', path, query }, changed);
    for (const { id, createdDateTime } of page.value) {
      // A message that was changed since may have been posted before.
      if (!(Date.parse(createdDateTime) > since.getTime())) continue;
      const resource = `teams('${team}')/channels('${channel}')/messages('${id}')`;
      const at = readResource(resource);
      if (at) found.set(id, { key: keyOf(resource, 'created'), trigger: 'message_received', reference: at });
    }
    const next = URL.parse(page['@odata.nextLink'] ?? '');
    query = next ? Object.fromEntries(next.searchParams) : undefined;
  }
  return [...found.values()].slice(-changedPages * changedPerPage);
}

/** https://learn.microsoft.com/graph/teams-changenotifications-chatmessage */
export const teamsPush: PushSubscription = {
  // Two of the three days that are allowed with lifecycle notifications.
  lastsSeconds: 2 * 86_400,
  resources: channelResources,
  async create({ url, lifecycleUrl, clientState, endsAt, resource }, call) {
    const wanted = resource ?? (await channelResources(call))[0];
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
  missed: missedMessages,
  async remove(id, call) {
    await unlessGone(call, { method: 'DELETE', path: subscriptionPath(id) }, z.unknown());
  },
};
