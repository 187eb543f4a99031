import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { catalog, readEnv } from '../services.ts';
import { EnvError, localSchema, secretsOf, variableNames } from './env.ts';

const usable = { DATABASE_URL: 'postgresql://localhost/atelier', TEMPORAL_ADDRESS: '127.0.0.1:7233' };
const messageOf = (variables: Record<string, string>) => {
  try {
    readEnv(variables);
  } catch (error) {
    if (error instanceof EnvError) return error.message;
    throw error;
  }
  return '';
};

describe('readEnv', () => {
  test('names every bad variable at once, and never a value', () => {
    const message = messageOf({ DATABASE_URL: 'not-a-url-but-secret', PORT: '99999' });
    expect(message).toMatch(/DATABASE_URL: /);
    expect(message).toMatch(/TEMPORAL_ADDRESS: is not set/);
    expect(message).toMatch(/PORT: /);
    expect(message).not.toContain('secret');
  });

  test('takes an empty variable for an unset one', () => {
    expect(readEnv({ ...usable, PORT: '', CRON_SECRET: '' })).toMatchObject({ PORT: 3000 });
  });

  test('refuses production without its secrets', () => {
    const message = messageOf({ ...usable, NODE_ENV: 'production' });
    for (const name of ['SEALING_KEYS', 'URL_SIGNING_KEY', 'CRON_SECRET'])
      expect(message).toContain(`${name}: is not set`);
  });

  test('refuses a ring of keys that names one twice', () => {
    const key = Buffer.alloc(32).toString('base64');
    expect(readEnv({ ...usable, SEALING_KEYS: `k2:${key},k1:${key}` }).SEALING_KEYS).toBeDefined();
    expect(messageOf({ ...usable, SEALING_KEYS: `k1:${key},k1:${key}` })).toMatch(
      /SEALING_KEYS: contains the same key id twice/,
    );
  });

  test('refuses fail points and opened addresses in production', () => {
    const secrets = {
      SEALING_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
      URL_SIGNING_KEY: 'u'.repeat(32),
      CRON_SECRET: 'c'.repeat(32),
    };
    expect(readEnv({ ...usable, ...secrets, NODE_ENV: 'production' }).NODE_ENV).toBe('production');
    expect(messageOf({ ...usable, ...secrets, NODE_ENV: 'production', FAIL_POINT: 'run.committed' })).toMatch(
      /FAIL_POINT/,
    );
    expect(messageOf({ ...usable, ...secrets, NODE_ENV: 'production', EGRESS_ALLOW_CIDRS: '10.0.0.0/8' })).toMatch(
      /EGRESS_ALLOW_CIDRS: is not allowed in production/,
    );
    expect(messageOf({ ...usable, EGRESS_PORTS: '443,0' })).toMatch(/EGRESS_PORTS: expected ports/);
    expect(readEnv({ ...usable, EGRESS_PORTS: '443, 8443' }).EGRESS_PORTS).toEqual([443, 8443]);
  });
});

test('headers of a collector are written as OpenTelemetry has them, and their values are secrets', () => {
  const of = (headers: string) => ({ ...usable, OTEL_EXPORTER_OTLP_HEADERS: headers });
  expect(secretsOf(readEnv(of('x-key=first-value,authorization=Bearer%20second')))).toEqual([
    'first-value',
    'Bearer%20second',
  ]);
  for (const wrong of ['x-key', 'x-key=', '=value', 'a=b,,c=d']) {
    expect(messageOf(of(wrong))).toMatch('OTEL_EXPORTER_OTLP_HEADERS: expected name=value[,…]');
  }
});

test('.env.example lists every variable and no other', () => {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  const listed = [...text.matchAll(/^([A-Z0-9_]+)=/gm)].map(([, name]) => name);
  const known = new Set([...variableNames(catalog.settings), ...Object.keys(localSchema.shape)]);
  expect(listed.toSorted()).toEqual([...known].toSorted());
});
