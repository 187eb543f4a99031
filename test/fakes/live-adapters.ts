import { anthropicTextModel } from '../../src/providers/anthropic.ts';
import { googleTextModel } from '../../src/providers/google.ts';
import type { LiveOptions } from '../../src/providers/live-text-model.ts';
import { listedModels, type TextProvider } from '../../src/providers/models.ts';
import { openaiTextModel } from '../../src/providers/openai.ts';
import type { TextModel } from '../../src/providers/ports.ts';
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
  create(options: LiveOptions): TextModel;
}

export const liveAdapters: LiveAdapter[] = [
  {
    provider: 'ANTHROPIC',
    title: 'Anthropic',
    model: 'claude-haiku-5-5',
    start: startFakeAnthropic,
    create: anthropicTextModel,
  },
  { provider: 'OPENAI', title: 'OpenAI', model: 'gpt-4.1', start: startFakeOpenai, create: openaiTextModel },
  { provider: 'GOOGLE', title: 'Google', model: 'gemini-3.8-flash', start: startFakeGoogle, create: googleTextModel },
];

/** The adapter, calling the fake. */
export const connect = ({ create }: LiveAdapter, fake: FakeProvider, options: Partial<LiveOptions> = {}): TextModel =>
  create({ apiKey: fake.apiKey, baseUrl: fake.baseUrl, timeoutMs: 10_000, models: listedModels, ...options });
