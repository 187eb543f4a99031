import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { EnvError } from '../../platform/env.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { findModel, listedModels, textProviders, withAliases } from './models.ts';

const folder = mkdtempSync(join(tmpdir(), 'atelier-models-'));
afterAll(() => rmSync(folder, { recursive: true }));

const luna = { provider: 'OPENAI', upstream: 'gpt-6-luna' };

describe('the list of models', () => {
  test.each([...listedModels])('%s is whole', (name, { provider, upstream, limits, sunsetAt }) => {
    expect(Object.keys(textProviders)).toContain(provider);
    expect(limits!.output).toBeLessThanOrEqual(limits!.context);
    if (sunsetAt !== undefined) expect(sunsetAt).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(findModel(listedModels, provider, name).upstream).toBe(upstream);
    // One step: the target of a name is not itself a name for something else.
    expect(listedModels.get(upstream)?.upstream).toBe(upstream);
  });

  test('has every published name, and none of them stands for a model with an end in sight', () => {
    for (const name of ['claude-sonnet-4-20250514', 'gemini-2.0-flash', 'gemini-1.5-pro']) {
      const { upstream, sunsetAt } = listedModels.get(name)!;
      expect(upstream).not.toBe(name);
      expect([sunsetAt, listedModels.get(upstream)?.sunsetAt]).toEqual([undefined, undefined]);
    }
  });
});

describe('a name that is not listed', () => {
  test('is served as it is, by the provider that was asked', () => {
    expect(findModel(listedModels, 'OPENAI', 'ft:gpt-4.1:acme::x1')).toMatchObject({ upstream: 'ft:gpt-4.1:acme::x1' });
  });

  test.each([
    ['ANTHROPIC', 'claude-of-tomorrow', false],
    ['OPENAI', 'gpt-4-turbo', true],
    ['OPENAI', 'gpt-5.4-mini', false],
    ['OPENAI', 'o4-mini', false],
    ['OPENAI', 'llama-4', true],
    ['GOOGLE', 'gemini-3-flash-preview', true],
  ] as const)('%s %s takes a temperature: %s', (provider, name, temperature) => {
    expect(findModel(listedModels, provider, name).temperature).toBe(temperature);
  });

  test('of another provider is refused', () => {
    expect(() => findModel(listedModels, 'GOOGLE', 'gpt-4o')).toThrow(ProviderFailure);
  });
});

describe('MODEL_ALIASES', () => {
  test('unset changes nothing', () => {
    expect(withAliases(undefined)).toBe(listedModels);
  });

  test('names a listed model for a name', () => {
    expect(withAliases('{"gpt-4": "gpt-6-luna"}').get('gpt-4')).toBe(listedModels.get('gpt-6-luna'));
  });

  test('replaces an entry as a whole', () => {
    const models = withAliases(JSON.stringify({ 'claude-sonnet-4-20250514': luna }));
    expect(models.get('claude-sonnet-4-20250514')).toEqual({ ...luna, temperature: true });
    expect(models.get('gpt-4o')).toBe(listedModels.get('gpt-4o'));
  });

  test('takes everything that an entry has', () => {
    const entry = {
      ...luna,
      limits: { context: 1000, output: 100 },
      temperature: false,
      sunsetAt: '2027-04-01',
      params: { reasoning_effort: 'none' },
    };
    expect(withAliases(JSON.stringify({ mine: entry })).get('mine')).toEqual(entry);
  });

  test('may be a file', () => {
    const path = join(folder, 'models.json');
    writeFileSync(path, '{"gpt-4": "gpt-6-luna"}');
    expect(withAliases(path).get('gpt-4')).toBe(listedModels.get('gpt-6-luna'));
  });

  test.each([
    ['{"a": "nobody"}', /a: "nobody" is not a listed model/],
    ['{"a": {"upstream": "x"}}', /a/],
    ['{"a": {"provider": "ACME", "upstream": "x"}}', /a/],
    ['{"a": {"provider": "OPENAI", "upstream": "x", "tempreture": true}}', /a/],
    ['{"a": {"provider": "OPENAI", "upstream": "x", "sunsetAt": "soon"}}', /a/],
    ['{"a": ', /MODEL_ALIASES: /],
    [join(folder, 'missing.json'), /ENOENT/],
  ])('that cannot be used stops the start: %s', (setting, message) => {
    expect(() => withAliases(setting)).toThrow(EnvError);
    expect(() => withAliases(setting)).toThrow(message);
    expect(() => withAliases(setting)).toThrow(/MODEL_ALIASES/);
  });
});
