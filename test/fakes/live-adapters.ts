import { anthropicModel } from '../../src/providers/text/anthropic.ts';
import type { Models } from '../../src/providers/text/chat-ports.ts';
import { googleModel } from '../../src/providers/text/google.ts';
import type { LiveOptions } from '../../src/providers/text/live-model.ts';
import { listedModels, type TextProvider } from '../../src/providers/text/models.ts';
import { openaiModel } from '../../src/providers/text/openai.ts';
import { startFakeAnthropic } from './anthropic.ts';
import { startFakeGoogle } from './google.ts';
import { startFakeOpenai } from './openai.ts';
import type { FakeProvider } from './wire-server.ts';

/** A live adapter and the fake that speaks its provider's wire format. */
export interface LiveAdapter {
  provider: TextProvider;
  /** As people write it. */
  title: string;
  /** A name that is served as it is. */
  model: string;
  start(apiKey?: string): Promise<FakeProvider>;
  create(options: LiveOptions): Models;
}

export const liveAdapters: LiveAdapter[] = [
  {
    provider: 'ANTHROPIC',
    title: 'Anthropic',
    model: 'claude-haiku-5-5',
    start: startFakeAnthropic,
    create: anthropicModel,
  },
  { provider: 'OPENAI', title: 'OpenAI', model: 'gpt-4.1', start: startFakeOpenai, create: openaiModel },
  { provider: 'GOOGLE', title: 'Google', model: 'gemini-3.8-flash', start: startFakeGoogle, create: googleModel },
];

/** The adapter, calling the fake. */
export const connect = ({ create }: LiveAdapter, fake: FakeProvider, options: Partial<LiveOptions> = {}): Models =>
  create({ apiKey: fake.apiKey, baseUrl: fake.baseUrl, timeoutMs: 60_000, models: listedModels, ...options });

/** The fakes of all providers. */
export interface LiveFakes {
  /** With the variables that send the product to them. */
  env: Record<string, string>;
  of(provider: string): FakeProvider;
  reset(): void;
  close(): Promise<void>;
}

export async function startLiveFakes(): Promise<LiveFakes> {
  const fakes = new Map<string, FakeProvider>();
  const env: Record<string, string> = { EGRESS_ALLOW_CIDRS: '127.0.0.1/32' };
  for (const { provider, start } of liveAdapters) {
    const fake = await start();
    fakes.set(provider, fake);
    env[`${provider}_API_KEY`] = fake.apiKey;
    env[`${provider}_BASE_URL`] = fake.baseUrl;
  }
  return {
    env,
    of: (provider) => fakes.get(provider)!,
    reset() {
      for (const fake of fakes.values()) fake.reset();
    },
    async close() {
      await Promise.all([...fakes.values()].map((fake) => fake.close()));
    },
  };
}
