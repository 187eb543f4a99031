import { createHmac, randomUUID } from 'node:crypto';
import { type AppRequest, type FakeApp, startFakeApp } from './oauth/oauth-app.ts';
import type { Json, WireAnswer } from './wire-server.ts';

/** Slack's refusals come with status 200. */
export const slackError = (error: string, status = 200, headers?: Record<string, string>): WireAnswer => ({
  status,
  ...(headers && { headers }),
  body: { ok: false, error },
});
export const slackRateLimit = (seconds: number) => slackError('ratelimited', 429, { 'retry-after': String(seconds) });

export interface FakeSlack extends FakeApp {
  signingSecret: string;
  /** Messages that were posted. */
  posted: Json[];
  /** Channels that there are. */
  channels: Set<string>;
  /** Sends an event of a team as Slack would, signed. */
  send(eventsUrl: string, event: Json, options?: SlackEventOptions): Promise<Response>;
}

export interface SlackEventOptions {
  teamId?: string;
  eventId?: string;
  secret?: string;
  /** Milliseconds. */
  now?: number;
  /** Takes the place of the whole body. */
  body?: Json;
}

const answerOk = (body: Json): WireAnswer => ({ status: 200, body: { ok: true, ...body } });

/** The headers of a request from Slack. */
export function slackSignature(body: string, secret: string, now = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000));
  const signature = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${signature}` };
}

/** Slack: OAuth for bots, `auth.test`, `chat.postMessage`, `views.open`, `auth.revoke`, and signed events. */
export async function startFakeSlack(): Promise<FakeSlack> {
  const posted: Json[] = [];
  const channels = new Set(['C0123456789', '#general']);
  const signingSecret = 'signing-secret-of-slack';

  function answer({ path, headers, body }: AppRequest, account: string): WireAnswer {
    const isJson = headers['content-type']?.startsWith('application/json');
    const args = (body ?? {}) as Json;
    switch (path) {
      case '/api/auth.test':
        return answerOk({ url: 'https://acme.slack.com/', team: `Team ${account}`, user: 'atelier', team_id: account });
      case '/api/chat.postMessage': {
        if (!isJson) return slackError('invalid_form_data');
        const { channel, text, blocks } = args;
        if (!channels.has(String(channel))) return slackError('channel_not_found');
        if (text === undefined && blocks === undefined) return slackError('no_text');
        if (blocks !== undefined && !Array.isArray(blocks)) return slackError('invalid_blocks');
        const ts = `1700000000.${String(posted.length + 1).padStart(6, '0')}`;
        posted.push({ ...args, team: account, ts });
        return answerOk({ channel, ts, message: { type: 'message', text, ts } });
      }
      case '/api/views.open':
        if (args.trigger_id === 'expired') return slackError('trigger_expired');
        if ((args.view as Json | undefined)?.type !== 'modal') return slackError('invalid_arguments');
        return answerOk({ view: { id: 'V0123456789', team_id: account, ...(args.view as Json) } });
      default:
        return slackError('unknown_method');
    }
  }

  const fake = await startFakeApp(() => ({
    paths: { authorize: '/oauth/v2/authorize', token: '/api/oauth.v2.access', revoke: '/api/auth.revoke' },
    pkce: false,
    rules: { rotates: true, revokesAccount: false, detectsReuse: false, lifeSeconds: 43_200 },
    tokenAnswer: (given, account) => ({
      ok: true,
      ...given,
      token_type: 'bot',
      app_id: 'A0001',
      bot_user_id: 'UBOT',
      team: { id: account, name: `Team ${account}` },
      enterprise: null,
      authed_user: { id: 'U0001' },
    }),
    tokenError(code, { grant_type: type }) {
      if (code !== 'invalid_grant') return slackError(code === 'invalid_client' ? 'bad_client_secret' : code);
      return slackError(type === 'refresh_token' ? 'invalid_refresh_token' : 'invalid_code');
    },
    revoked: { ok: true, revoked: true },
    refused: () => slackError('invalid_auth'),
    answer,
  }));
  return Object.assign(fake, {
    signingSecret,
    posted,
    channels,
    send(eventsUrl: string, event: Json, options: SlackEventOptions = {}) {
      const { teamId = 'T0001', eventId = `Ev${randomUUID()}`, secret = signingSecret, now } = options;
      const authorizations = [{ team_id: teamId, user_id: 'UBOT', is_bot: true }];
      const sent = options.body ?? {
        token: 'legacy',
        team_id: teamId,
        api_app_id: 'A0001',
        type: 'event_callback',
        event_id: eventId,
        event_time: 1_700_000_000,
        authorizations,
        event,
      };
      const body = JSON.stringify(sent);
      const headers = { 'content-type': 'application/json', ...slackSignature(body, secret, now) };
      return fetch(eventsUrl, { method: 'POST', headers, body });
    },
  });
}
