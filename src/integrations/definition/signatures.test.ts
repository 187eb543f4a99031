import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { findIntegration } from '../catalog.ts';
import type { InboundRequest } from './inbound.ts';

const request = (headers: Record<string, string>, body: string, url = 'https://api.example.com/events') => ({
  headers,
  body: Buffer.from(body),
  url,
  query: new URLSearchParams(),
  json: undefined,
});
const verify = (integration: string, of: InboundRequest, secret: string, now: number) =>
  findIntegration(integration)!.inbound!.verify(of, secret, now);

test("Slack's vector verifies for 300 seconds before and after its time", () => {
  // https://docs.slack.dev/authentication/verifying-requests-from-slack/
  const body =
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
  const headers = {
    'x-slack-request-timestamp': '1531420618',
    'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  };
  const at = 1_531_420_618_000;
  const isValid = (now: number, sent = body) =>
    verify('slack', request(headers, sent), '8f742231b10e8888abcd99yyyzzz85a5', now);
  expect([at, at - 300_000, at + 300_000].every((now) => isValid(now))).toBe(true);
  expect([at - 300_001, at + 300_001].some((now) => isValid(now))).toBe(false);
  expect(isValid(at, `${body}&`)).toBe(false);
});

test('version 3 of HubSpot covers method, decoded address, body and time', () => {
  const [secret, body, at] = [
    'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
    '{"example_field":"example_value"}',
    1_700_000_000_000,
  ];
  const signed = createHmac('sha256', secret)
    .update(`POSThttps://www.example.com/webhook_uri?a=b:c${body}${at}`)
    .digest('base64');
  const headers = { 'x-hubspot-signature-v3': signed, 'x-hubspot-request-timestamp': String(at) };
  const isValid = (url: string, now = at) => verify('hubspot', request(headers, body, url), secret, now);
  expect(isValid('https://www.example.com/webhook_uri?a=b%3Ac')).toBe(true);
  expect(isValid('https://www.example.com/webhook_uri?a=b:d')).toBe(false);
  expect(isValid('https://www.example.com/webhook_uri?a=b:c', at + 300_001)).toBe(false);
});
