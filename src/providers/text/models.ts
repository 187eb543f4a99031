import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { EnvError } from '../../platform/env.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';

/** Providers of text models, with their display names. */
export const textProviders = { ANTHROPIC: 'Anthropic', OPENAI: 'OpenAI', GOOGLE: 'Google' } as const;
export type TextProvider = keyof typeof textProviders;

/** The model behind a published name. */
export interface ListedModel {
  provider: TextProvider;
  /** The provider's name of the model. */
  upstream: string;
  /** In tokens. */
  limits?: { context: number; output: number } | undefined;
  /** Whether the provider accepts a temperature for it. */
  temperature: boolean;
  /** Provider-specific fields that are merged into every request. */
  params?: Record<string, unknown> | undefined;
  /** The date on which the provider will shut it down, YYYY-MM-DD. */
  sunsetAt?: string | undefined;
}

export type ModelList = ReadonlyMap<string, ListedModel>;

const claude5 = { provider: 'ANTHROPIC', limits: { context: 1_000_000, output: 128_000 }, temperature: false } as const;
const claude4 = { provider: 'ANTHROPIC', limits: { context: 200_000, output: 64_000 }, temperature: true } as const;
const gpt6 = { provider: 'OPENAI', limits: { context: 1_050_000, output: 128_000 }, temperature: false } as const;
const gpt41 = { provider: 'OPENAI', limits: { context: 1_047_576, output: 32_768 }, temperature: true } as const;
const gpt4o = { provider: 'OPENAI', limits: { context: 128_000, output: 16_384 }, temperature: true } as const;
const gemini = { provider: 'GOOGLE', limits: { context: 1_048_576, output: 65_536 }, temperature: true } as const;
// Newer ones ignore a temperature.
const gemini3 = { ...gemini, temperature: false } as const;

const listed: Record<string, ListedModel> = {
  // Published names that stay supported although their providers shut the models down. The successors think by default,
  // which uses up maxTokens, so thinking is reduced.
  'claude-sonnet-4-20250514': {
    ...claude5,
    upstream: 'claude-sonnet-5-5',
    params: { thinking: { type: 'between_tools' } },
  },
  'gemini-2.0-flash': { ...gemini3, upstream: 'gemini-3.5-flash-lite' },
  'gemini-1.5-pro': {
    ...gemini3,
    upstream: 'gemini-3.8-flash',
    params: { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } },
  },

  'claude-opus-5-5': { ...claude5, upstream: 'claude-opus-5-5' },
  'claude-sonnet-5-5': { ...claude5, upstream: 'claude-sonnet-5-5' },
  'claude-haiku-5-5': { ...claude5, upstream: 'claude-haiku-5-5' },
  'claude-sonnet-4-6': { ...claude4, upstream: 'claude-sonnet-4-6' },
  'claude-haiku-4-5': { ...claude4, upstream: 'claude-haiku-4-5' },
  'claude-sonnet-4-5': { ...claude4, upstream: 'claude-sonnet-4-5', sunsetAt: '2026-11-30' },

  'gpt-6-astra': { ...gpt6, upstream: 'gpt-6-astra' },
  'gpt-6.1-sol': { ...gpt6, upstream: 'gpt-6.1-sol' },
  'gpt-6.1-terra': { ...gpt6, upstream: 'gpt-6.1-terra' },
  'gpt-6-sol': { ...gpt6, upstream: 'gpt-6-sol' },
  'gpt-6-luna': { ...gpt6, upstream: 'gpt-6-luna' },
  'gpt-4.1': { ...gpt41, upstream: 'gpt-4.1', sunsetAt: '2027-01-14' },
  'gpt-4.1-mini': { ...gpt41, upstream: 'gpt-4.1-mini', sunsetAt: '2027-01-14' },
  'gpt-4o': { ...gpt4o, upstream: 'gpt-4o', sunsetAt: '2027-01-14' },
  'gpt-4o-mini': { ...gpt4o, upstream: 'gpt-4o-mini', sunsetAt: '2027-01-14' },

  'gemini-3.8-flash': { ...gemini3, upstream: 'gemini-3.8-flash' },
  'gemini-3.5-flash-lite': { ...gemini3, upstream: 'gemini-3.5-flash-lite' },
  'gemini-2.5-pro': { ...gemini, upstream: 'gemini-2.5-pro', sunsetAt: '2026-12-01' },
  'gemini-2.5-flash': { ...gemini, upstream: 'gemini-2.5-flash', sunsetAt: '2026-12-01' },
};

/** The models of this release. */
export const listedModels: ModelList = new Map(Object.entries(listed));

const tokens = z.int().min(1);
const aliases = z.record(
  z.string().min(1),
  z.union([
    z.string().min(1),
    z.strictObject({
      provider: z.enum(Object.keys(textProviders) as TextProvider[]),
      upstream: z.string().min(1),
      limits: z.strictObject({ context: tokens, output: tokens }).optional(),
      temperature: z.boolean().default(true),
      params: z.record(z.string(), z.unknown()).optional(),
      sunsetAt: z.iso.date().optional(),
    }),
  ]),
);

function parseAliases(setting: string): z.infer<typeof aliases> {
  const inline = setting.trimStart().startsWith('{');
  try {
    return aliases.parse(JSON.parse(inline ? setting : readFileSync(setting, 'utf8')));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const why = issue ? `${issue.path.join('.')}: ${issue.message}` : (error as Error).message;
    throw new EnvError(`The environment is invalid:\n  MODEL_ALIASES: ${why}`);
  }
}

/**
 * The models of this release, with entries added or replaced by the operator.
 * @param setting MODEL_ALIASES: JSON, or the path of a JSON file. Values are names of listed models, or whole entries. An
 * existing entry is replaced, not merged.
 * @throws EnvError
 */
export function withAliases(setting: string | undefined, models: ModelList = listedModels): ModelList {
  if (setting === undefined) return models;
  const result = new Map(models);
  for (const [name, alias] of Object.entries(parseAliases(setting))) {
    const model = typeof alias === 'string' ? models.get(alias) : alias;
    if (!model) {
      const how = `"${alias}" is not a listed model. Use {"provider": …, "upstream": …}`;
      throw new EnvError(`The environment is invalid:\n  MODEL_ALIASES: ${name}: ${how}`);
    }
    result.set(name, model);
  }
  return result;
}

/** OpenAI's thinking models reject a temperature, and so does Anthropic's current API; others accept it. */
const guessTemperature = (provider: string, name: string) =>
  provider !== 'ANTHROPIC' && !(provider === 'OPENAI' && /^(o\d|gpt-[5-9])/.test(name));

/** Google's API has the name in the path of the URL. */
const usableName = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}$/;

/**
 * The model for `name`: the listed entry, or for other names a model of `provider` with this name.
 * @throws ProviderFailure when the name is invalid or belongs to another provider
 */
export function findModel(models: ModelList, provider: TextProvider, name: string): ListedModel {
  const model = models.get(name);
  if (model && model.provider !== provider) {
    throw new ProviderFailure('invalid_request', `${name} is a model of ${textProviders[model.provider]}.`);
  }
  if (model) return model;
  if (!usableName.test(name)) throw new ProviderFailure('invalid_request', 'The name of the model is not valid.');
  return { provider, upstream: name, temperature: guessTemperature(provider, name) };
}
