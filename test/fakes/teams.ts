import { randomUUID } from 'node:crypto';
import { type AppRequest, type FakeApp, startFakeApp } from './oauth/oauth-app.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** An error as Microsoft Graph words it. */
export const teamsError = (status: number, code: string, headers?: Record<string, string>): WireAnswer => ({
  status,
  ...(headers && { headers }),
  body: { error: { code, message: `${code}: words.`, innerError: { 'request-id': randomUUID() } } },
});

export interface TeamsSubscription {
  id: string;
  resource: string;
  notificationUrl: string;
  lifecycleNotificationUrl: string;
  expirationDateTime: string;
  clientState: string;
}

interface PostedMessage {
  text: string;
  html?: boolean;
  user?: string;
  /** The resource of a message. */
  replyTo?: string;
}

export interface FakeTeams extends FakeApp {
  tenantId: string;
  organization: string;
  /** Whose the connected account is. */
  user: { id: string; displayName: string };
  teamId: string;
  channelId: string;
  /** Channels of the team that cause no notifications. They are listed before the one that does. */
  otherChannels: Json[];
  /** The origin of the addresses of further pages; its own unless given. */
  linkOrigin: string | undefined;
  subscriptions: Map<string, TeamsSubscription>;
  /** What requests for a subscription to a channel are answered instead, by its id. */
  unsubscribable: Map<string, WireAnswer>;
  /** Ids of subscriptions that the account may not touch any more. */
  forbidden: Set<string>;
  /** Ids of subscriptions whose next request is refused. */
  refusedOnce: Set<string>;
  /** Posted by the API, or by `post`. */
  messages: Map<string, Json>;
  /** Messages in a page of the changed ones, whatever was asked for: pages may be smaller. */
  messagesPerPage: number;
  /** Replies in a page, whatever was asked for; as many as were asked for unless given. */
  repliesPerPage: number | undefined;
  /** What requests for a single message are answered instead. */
  withheld: WireAnswer | undefined;
  /** What the next requests for a later page of a list of messages are answered. */
  laterPages: WireAnswer[];
  /** Whether its address is asked for a validation token before a subscription is made, as Graph does. */
  validates: boolean;
  /** Posts a message as another person. @returns its notification's resource */
  post(message: PostedMessage): string;
  /** Notifies of a resource: by every subscription to its channel, or in a form of one's own. */
  send(eventsUrl: string, value: Json[]): Promise<Response>;
  /** The notifications that Graph would send of a resource. */
  notificationsOf(resource: string, changeType?: string): Json[];
  /** As a handshake. @returns what was answered */
  validate(eventsUrl: string, token: string): Promise<Response>;
}

/** The one that it has. */
export const teamsTenant = {
  tenantId: '84bd8158-6d4d-4958-8b9f-9d6445542f95',
  organization: 'Analytical Engines',
  user: { id: '8ea0e38b-efb3-4757-924a-5f94061cf8c2', displayName: 'Ada Lovelace' },
  teamId: 'fbe2bf47-16c8-47cf-b4a5-4b9b187c508b',
  channelId: '19:4a95f7d8db4c4e7fae857bcebe0623e6@thread.tacv2',
};

const channelPath =
  /^\/v1\.0\/teams\/([^/]+)\/channels\/([^/]+)\/messages(?:\/([^/]+))?(?:\/(replies)(?:\/([^/]+))?)?$/;
const maxMs = 3 * 86_400_000;
const channelsPerPage = 50;

/** Microsoft's login and Graph: teams with one channel, messages, and subscriptions. */
export async function startFakeTeams(): Promise<FakeTeams> {
  const messages = new Map<string, Json>();
  const subscriptions = new Map<string, TeamsSubscription>();
  const { tenantId, teamId, channelId, user, organization } = teamsTenant;
  const userId = user.id;
  const closed = { id: '19:closed@thread.tacv2', displayName: 'Board', membershipType: 'private' };
  const general = { id: channelId, displayName: 'General', membershipType: 'standard' };
  let lastMs = Date.now();

  function keep(content: string, contentType: string, from: string, replyToId: string | null = null): Json {
    lastMs = Math.max(Date.now(), lastMs + 1);
    const message = {
      id: String(lastMs),
      replyToId,
      messageType: 'message',
      deletedDateTime: null,
      createdDateTime: new Date(lastMs).toISOString(),
      from: { application: null, device: null, user: { id: from, displayName: 'Words', userIdentityType: 'aadUser' } },
      body: { contentType, content },
      channelIdentity: { teamId, channelId },
    };
    messages.set(message.id, message);
    return message;
  }

  /**
   * A list has what there was when it began, and its last page the place where a list of the rest begins.
   */
  function changedIn(query: URLSearchParams): WireAnswer {
    const [, after] = /^lastModifiedDateTime gt (\S+Z)$/.exec(query.get('$filter') ?? '') ?? [];
    const begun = query.get('$deltatoken') ?? (after && String(Date.parse(after)));
    const token = query.get('$skiptoken') ?? (begun && `${begun}.${lastMs}.0`);
    const [sinceMs, untilMs, skipped] = (token ?? '').split('.').map(Number);
    const instead = query.has('$skiptoken') ? fake.laterPages.shift() : undefined;
    if (instead) return instead;
    if (!token || Number.isNaN(sinceMs) || (after && query.get('$top') !== '50')) return teamsError(400, 'BadRequest');
    const isListed = (at: number) => at > sinceMs! && at <= untilMs!;
    const touched = [...messages.values()].filter((one) => isListed(Date.parse(String(one.createdDateTime))));
    // Each message that was posted or replied to, without its replies.
    const ids = new Set(touched.map(({ id, replyToId }) => String(replyToId ?? id)));
    const all = [...messages.values()].filter(({ id }) => ids.has(String(id)));
    const link = `${fake.linkOrigin ?? app.origin}/v1.0/teams/${teamId}/channels/${channelId}/messages/delta`;
    const rest = skipped! + fake.messagesPerPage;
    const next = rest < all.length && { '@odata.nextLink': `${link}?$skiptoken=${sinceMs}.${untilMs}.${rest}` };
    const end = !next && { '@odata.deltaLink': `${link}?$deltatoken=${untilMs}` };
    return { status: 200, body: { value: all.slice(skipped, rest), ...next, ...end } };
  }

  /** The newest first. */
  function repliesTo(message: string, query: URLSearchParams): WireAnswer {
    if (!messages.has(message)) return teamsError(404, 'NotFound');
    const all = [...messages.values()].filter(({ replyToId }) => replyToId === message).toReversed();
    const size = fake.repliesPerPage ?? Number(query.get('$top') ?? 20);
    const begin = Number(query.get('$skiptoken') ?? 0);
    const end = begin + size;
    const path = `/v1.0/teams/${teamId}/channels/${channelId}/messages/${message}/replies`;
    const next = end < all.length && {
      '@odata.nextLink': `${fake.linkOrigin ?? app.origin}${path}?$top=${size}&$skiptoken=${end}`,
    };
    return { status: 200, body: { value: all.slice(begin, end), ...next } };
  }

  function channelsFrom(query: URLSearchParams): WireAnswer {
    const all = [...fake.otherChannels, general];
    const rest = Number(query.get('$skiptoken') ?? 0) + channelsPerPage;
    const link = `${fake.linkOrigin ?? app.origin}/v1.0/teams('${teamId}')/channels?$select=id&$skiptoken=${rest}`;
    const next = rest < all.length && { '@odata.nextLink': link };
    return { status: 200, body: { value: all.slice(rest - channelsPerPage, rest), ...next } };
  }

  function inChannel({ method, path, query, body }: AppRequest): WireAnswer {
    const [, team, channel, id, replies, reply] = channelPath
      .exec(path)!
      .map((part) => part && decodeURIComponent(part));
    if (team !== teamId || channel !== channelId) return teamsError(404, 'NotFound');
    if (method === 'GET' && id === 'delta') return changedIn(query);
    if (method === 'GET' && replies && reply === undefined) return repliesTo(id ?? '', query);
    if (method === 'GET') {
      if (fake.withheld) return fake.withheld;
      const found = messages.get(reply ?? id ?? '');
      return found ? { status: 200, body: found } : teamsError(404, 'NotFound');
    }
    const { content, contentType = 'text' } = body?.body ?? {};
    const isRight = method === 'POST' && typeof content === 'string' && ['text', 'html'].includes(contentType);
    if (!isRight || Object.keys(body).join() !== 'body') return teamsError(400, 'BadRequest');
    if (Buffer.byteLength(content) > 28 * 1024) return teamsError(413, 'RequestEntityTooLarge');
    return { status: 201, body: { '@odata.context': 'words', ...keep(content, contentType, userId) } };
  }

  async function isValidated(notificationUrl: string): Promise<boolean> {
    const token = `Validation: Testing client application reachability for subscription Request-Id: ${randomUUID()}`;
    const answer = await fake.validate(notificationUrl, token).catch(() => undefined);
    const isText = answer?.headers.get('content-type')?.startsWith('text/plain');
    return answer?.status === 200 && isText === true && (await answer.text()) === token;
  }

  /** Graph asks before it answers; here the answer comes first, and a subscription that is not validated is gone. */
  function subscribe({ body }: AppRequest): WireAnswer {
    const { changeType, notificationUrl, lifecycleNotificationUrl, resource, expirationDateTime, clientState } = body;
    const [, unsubscribable] = [...fake.unsubscribable].find(([id]) => resource.includes(`/${id}/`)) ?? [];
    if (unsubscribable) return unsubscribable;
    const isKnown = resource === `/teams/${teamId}/channels/${channelId}/messages`;
    const lasts = Date.parse(expirationDateTime) - Date.now();
    const isRight = changeType === 'created' && typeof clientState === 'string' && clientState.length <= 128;
    if (!isKnown) return teamsError(403, 'Forbidden');
    if (!isRight || !(lasts > 0 && lasts <= maxMs)) return teamsError(400, 'InvalidRequest');
    if (lasts > 3_600_000 && !lifecycleNotificationUrl) return teamsError(400, 'InvalidRequest');
    const made = {
      id: randomUUID(),
      resource,
      notificationUrl,
      lifecycleNotificationUrl,
      expirationDateTime,
      clientState,
    };
    subscriptions.set(made.id, made);
    if (fake.validates) {
      void Promise.all([notificationUrl, lifecycleNotificationUrl].map(isValidated)).then((all) => {
        if (all.includes(false)) subscriptions.delete(made.id);
      });
    }
    const { clientState: _, ...shown } = made;
    return { status: 201, body: { ...shown, changeType, clientState: null } };
  }

  function subscribed({ method, path, body }: AppRequest): WireAnswer {
    const id = decodeURIComponent(path.slice('/v1.0/subscriptions/'.length));
    if (fake.forbidden.has(id) || fake.refusedOnce.delete(id)) return teamsError(403, 'Forbidden');
    const found = subscriptions.get(id);
    if (!found) return teamsError(404, 'ResourceNotFound');
    if (method === 'DELETE') {
      subscriptions.delete(found.id);
      return { status: 204, body: undefined };
    }
    found.expirationDateTime = body.expirationDateTime;
    const { clientState: _, ...shown } = found;
    return { status: 200, body: shown };
  }

  function answer(request: AppRequest): WireAnswer {
    const { method, path } = request;
    const ok = (body: unknown): WireAnswer => ({ status: 200, body });
    if (path === '/v1.0/me') return ok({ ...user, userPrincipalName: 'ada@example.com' });
    if (path === '/v1.0/organization') return ok({ value: [{ id: tenantId, displayName: organization }] });
    if (path === '/v1.0/me/joinedTeams') return ok({ value: [{ id: teamId, displayName: 'Builds' }] });
    if (path === `/v1.0/teams/${teamId}/channels`) return channelsFrom(request.query);
    if (path === '/v1.0/subscriptions' && method === 'POST') return subscribe(request);
    if (path.startsWith('/v1.0/subscriptions/')) return subscribed(request);
    return channelPath.test(path) ? inChannel(request) : teamsError(404, 'ResourceNotFound');
  }

  const app = await startFakeApp(() => ({
    paths: { authorize: '/organizations/oauth2/v2.0/authorize', token: '/organizations/oauth2/v2.0/token' },
    pkce: true,
    rules: { rotates: true, detectsReuse: false, revokesAccount: false, lifeSeconds: 3_600 },
    tokenAnswer: (tokens) => ({ ...tokens, ext_expires_in: tokens.expires_in }),
    refused: () => teamsError(401, 'InvalidAuthenticationToken'),
    answer,
  }));
  const fake: FakeTeams = Object.assign(app, {
    tenantId,
    organization,
    user,
    teamId,
    channelId,
    otherChannels: [closed],
    linkOrigin: undefined,
    subscriptions,
    unsubscribable: new Map<string, WireAnswer>(),
    forbidden: new Set<string>(),
    refusedOnce: new Set<string>(),
    messages,
    messagesPerPage: 2,
    repliesPerPage: undefined,
    withheld: undefined,
    laterPages: [],
    validates: true,
    post({ text, html = false, user: from = randomUUID(), replyTo }: PostedMessage) {
      const message = /messages\('(\d+)'\)$/.exec(replyTo ?? '')?.[1] ?? null;
      const { id } = keep(text, html ? 'html' : 'text', from, message);
      return message === null
        ? `teams('${teamId}')/channels('${channelId}')/messages('${id}')`
        : `${replyTo}/replies('${id}')`;
    },
    notificationsOf: (resource: string, changeType = 'created') =>
      [...subscriptions.values()].map(({ id, clientState, expirationDateTime }) => ({
        subscriptionId: id,
        changeType,
        clientState,
        tenantId,
        resource,
        subscriptionExpirationDateTime: expirationDateTime,
        resourceData: { '@odata.type': '#Microsoft.Graph.chatMessage', '@odata.id': resource, id: 'words' },
      })),
    send: (eventsUrl: string, value: Json[]) =>
      fetch(eventsUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify({ value }),
      }),
    validate: (eventsUrl: string, token: string) =>
      fetch(`${eventsUrl}${eventsUrl.includes('?') ? '&' : '?'}validationToken=${encodeURIComponent(token)}`, {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      }),
  });
  return fake;
}
