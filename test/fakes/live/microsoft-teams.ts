import { expect } from '@jest/globals';
import { microsoftTeams } from '../../../src/integrations/catalog/microsoft-teams.ts';
import { type FakeTeams, startFakeTeams, teamsError } from '../teams.ts';
import { live } from './entry.ts';

/** The channel of the fake that was started last. */
let place = { team: '', channel: '' };

export const liveTeams = live<FakeTeams>({
  integration: microsoftTeams,
  async start() {
    const fake = await startFakeTeams();
    place = { team: fake.teamId, channel: fake.channelId };
    return fake;
  },
  variables: ({ origin, clientId, clientSecret }) => ({
    ...{ TEAMS_CLIENT_ID: clientId, TEAMS_CLIENT_SECRET: clientSecret },
    ...{ TEAMS_LOGIN_BASE_URL: origin, TEAMS_BASE_URL: origin },
  }),
  account: ({ tenantId, organization, user, teamId }) => ({
    ...{ id: tenantId, name: organization, details: { user: user.id, team: teamId } },
  }),
  token: (fake) => fake.accessToken(),
  identity: { workspace: 'Analytical Engines', user: 'Ada Lovelace' },
  rateLimited: (seconds) => teamsError(429, 'TooManyRequests', { 'retry-after': String(seconds) }),
  expired: [teamsError(401, 'InvalidAuthenticationToken')],
  meanings: [
    [teamsError(400, 'BadRequest'), 'invalid_payload', 'BadRequest'],
    [teamsError(413, 'RequestEntityTooLarge'), 'invalid_payload', 'RequestEntityTooLarge'],
    [teamsError(403, 'Forbidden'), 'action_failed', 'Forbidden'],
    [teamsError(403, 'ApplicationThrottled'), 'rate_limited', 'ApplicationThrottled'],
    [teamsError(404, 'NotFound'), 'invalid_payload', 'NotFound'],
    [teamsError(409, 'Conflict'), 'action_failed', 'Conflict'],
    [teamsError(502, 'BadGateway'), 'lost', 'BadGateway'],
  ],
  actions: {
    send_message: {
      payload: () => ({ channelId: `${place.team}/${place.channel}`, content: '<b>Grüße</b>', contentType: 'html' }),
      answer: { messageId: expect.any(String), createdAt: expect.stringMatching(/^\d{4}-.*Z$/) },
      invalid: [
        [{ content: 'x' }, 'channelId'],
        [{ channelId: '19:a@thread.tacv2' }, 'content'],
        [{ channelId: 'a/b/c', content: 'x' }, 'channelId'],
        [{ channelId: '../me', content: 'x' }, 'channelId'],
        [{ channelId: '19:a@thread.tacv2', content: 'ü'.repeat(14 * 1024 + 1) }, 'content'],
        [{ channelId: '19:a@thread.tacv2', content: 'x', contentType: 'markdown' }, 'contentType'],
      ],
      refused: [[{ channelId: '19:nowhere@thread.tacv2', content: 'x' }, 'invalid_payload', 'channelId']],
    },
  },
});
