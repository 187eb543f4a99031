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

export interface FakeTeams extends FakeApp {
  tenantId: string;
  organization: string;
  /** Whose the connected account is. */
  user: { id: string; displayName: string };
  teamId: string;
  channelId: string;
  subscriptions: Map<string, TeamsSubscription>;
  /** Ids of subscriptions that the account may not touch any more. */
  forbidden: Set<string>;
  /** Posted by the API, or by `post`. */
  messages: Map<string, Json>;
  /** Whether its address is asked for a validation token before a subscription is made, as Graph does. */
  validates: boolean;
  /** Posts a message as another person. @returns its notification's resource */
  post(message: { text: string; html?: boolean; user?: string }): string;
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

const channelPath = /^\/v1\.0\/teams\/([^/]+)\/channels\/([^/]+)\/messages(?:\/([^/]+))?(?:\/replies\/([^/]+))?$/;
const maxMs = 3 * 86_400_000;

/** Microsoft's login and Graph: teams with one channel, messages, and subscriptions. */
export async function startFakeTeams(): Promise<FakeTeams> {
  const messages = new Map<string, Json>();
  const subscriptions = new Map<string, TeamsSubscription>();
  const { tenantId, teamId, channelId, user, organization } = teamsTenant;
  const userId = user.id;
  // Messages of the first one cause no notifications.
  const closed = { id: '19:closed@thread.tacv2', displayName: 'Board', membershipType: 'private' };
  const channels = [closed, { id: channelId, displayName: 'General', membershipType: 'standard' }];
  let lastMs = Date.now();

  function keep(content: string, contentType: string, from: string): Json {
    lastMs = Math.max(Date.now(), lastMs + 1);
    const message = {
      id: String(lastMs),
      replyToId: null,
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

  /** Two in a page, whatever was asked for: pages may be smaller. */
  function changedIn(query: URLSearchParams): WireAnswer {
    const [, after] = /^lastModifiedDateTime gt (\S+Z)$/.exec(query.get('$filter') ?? '') ?? [];
    const token = query.get('$skiptoken') ?? (after && `${Date.parse(after)}.0`);
    const [sinceMs, skipped] = (token ?? '').split('.').map(Number);
    if (!token || Number.isNaN(sinceMs) || (after && query.get('$top') !== '50')) return teamsError(400, 'BadRequest');
    const all = [...messages.values()].filter((one) => Date.parse(String(one.createdDateTime)) > sinceMs!);
    const link = `${app.origin}/v1.0/teams/${teamId}/channels/${channelId}/messages/delta`;
    const next = skipped! + 2 < all.length && { '@odata.nextLink': `${link}?$skiptoken=${sinceMs}.${skipped! + 2}` };
    const end = !next && { '@odata.deltaLink': `${link}?$deltatoken=words` };
    return { status: 200, body: { value: all.slice(skipped, skipped! + 2), ...next, ...end } };
  }

  function inChannel({ method, path, query, body }: AppRequest): WireAnswer {
    const [, team, channel, id, reply] = channelPath.exec(path)!.map((part) => part && decodeURIComponent(part));
    if (team !== teamId || channel !== channelId) return teamsError(404, 'NotFound');
    if (method === 'GET' && id === 'delta') return changedIn(query);
    if (method === 'GET') {
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
    if (fake.forbidden.has(id)) return teamsError(403, 'Forbidden');
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
    if (path === `/v1.0/teams/${teamId}/channels`) return ok({ value: channels });
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
    subscriptions,
    forbidden: new Set<string>(),
    messages,
    validates: true,
    post({ text, html = false, user: from = randomUUID() }: { text: string; html?: boolean; user?: string }) {
      const { id } = keep(text, html ? 'html' : 'text', from);
      return `teams('${teamId}')/channels('${channelId}')/messages('${id}')`;
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
