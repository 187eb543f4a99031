import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { EnvError } from '../../platform/env.ts';
import { type AspectRatio, aspectRatios } from '../core/media/aspect-ratios.ts';
import {
  type MediaModel,
  type MediaProvider,
  type ModelTable,
  mediaModels,
  mediaProviders,
  qualities,
} from '../core/media/models.ts';
import { requestLimits } from '../core/media/requests.ts';

const { videoSeconds, musicSeconds, promptCharacters } = requestLimits;

const field = z.string().min(1).max(100);
/** It becomes part of the path of a URL. */
const upstream = z
  .string()
  .max(200)
  .regex(/^(?!.*\.\.)[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)*$/, 'expected a name like owner/model');
const ratios = z.array(z.enum(aspectRatios)).min(1);
const params = z.record(z.string(), z.unknown());

const input = z.strictObject({
  prompt: z.enum(['prompt', 'promptText']).optional(),
  negativePrompt: field.optional(),
  seed: field.optional(),
  image: field.optional(),
  scale: field.optional(),
  size: z
    .strictObject({
      field,
      as: z.union([z.enum(['pixels', 'ratio']), z.partialRecord(z.enum(aspectRatios), z.string().min(1))]),
    })
    .optional(),
  seconds: z.strictObject({ field, as: z.enum(['number', 'text', 'text_s']) }).optional(),
  params: params.optional(),
});

const common = {
  provider: z.enum(Object.keys(mediaProviders) as MediaProvider[]),
  upstream,
  input,
  typicalSeconds: z.number().positive().max(1_800).default(60),
  sunsetAt: z.iso.date().optional(),
};

const changed = z.strictObject({ upstream: upstream.optional(), input: input.optional() });

const entries = {
  image: z.strictObject({
    ...common,
    kind: z.literal('image'),
    ratios: ratios.default([...aspectRatios] as AspectRatio[]),
    qualities: z.partialRecord(z.enum(qualities), changed).optional(),
  }),
  video: z.strictObject({
    ...common,
    kind: z.literal('video'),
    ratios,
    maxSeconds: z.number().min(videoSeconds.min).max(videoSeconds.max),
    offers: z.array(z.number().positive()).default([]),
    maxPromptCharacters: z.int().min(1).max(promptCharacters).optional(),
    fromImage: z.strictObject({ upstream, image: field }),
  }),
  music: z.strictObject({
    ...common,
    kind: z.literal('music'),
    maxSeconds: z.number().min(musicSeconds.min).max(musicSeconds.max),
  }),
  upscale: z.strictObject({ ...common, kind: z.literal('upscale') }),
  background_removal: z.strictObject({ ...common, kind: z.literal('background_removal') }),
};

const entry = z.discriminatedUnion('kind', [
  entries.image,
  entries.video,
  entries.music,
  entries.upscale,
  entries.background_removal,
]);
const aliases = z.record(z.string().min(1).max(100), z.union([z.string().min(1), z.record(z.string(), z.unknown())]));

const wrong = (why: string) => new EnvError(`The environment is invalid:\n  MEDIA_ALIASES: ${why}`);

const reasonOf = (error: unknown, name?: string): string => {
  const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
  if (!issue) return (error as Error).message;
  return `${[...(name === undefined ? [] : [name]), ...issue.path].join('.')}: ${issue.message}`;
};

function parse(setting: string): z.infer<typeof aliases> {
  const inline = setting.trimStart().startsWith('{');
  try {
    return aliases.parse(JSON.parse(inline ? setting : readFileSync(setting, 'utf8')));
  } catch (error) {
    throw wrong(reasonOf(error));
  }
}

function readEntry(name: string, given: Record<string, unknown>, replaced: MediaModel | undefined): MediaModel {
  const read = entry.safeParse({ ...(replaced && { kind: replaced.kind }), ...given });
  if (!read.success) throw wrong(reasonOf(read.error, name));
  return read.data as MediaModel;
}

/**
 * The media models of this release, with entries added or replaced by the operator.
 * @param setting MEDIA_ALIASES: JSON, or the path of a JSON file. Values are names of listed models of the same kind, or
 *   whole entries, whose `kind` may be left out where they replace one. An existing entry is replaced, not merged.
 * @throws EnvError
 */
export function withMediaAliases(setting: string | undefined, models: ModelTable = mediaModels): ModelTable {
  if (setting === undefined) return models;
  const result = new Map(models);
  for (const [name, alias] of Object.entries(parse(setting))) {
    const replaced = models.get(name);
    const model = typeof alias === 'string' ? models.get(alias) : readEntry(name, alias, replaced);
    if (!model)
      throw wrong(`${name}: "${alias}" is not a listed model. Use {"provider": …, "upstream": …, "input": …}`);
    if (replaced && replaced.kind !== model.kind) {
      throw wrong(
        `${name}: it is a model of the kind ${replaced.kind} and cannot become one of the kind ${model.kind}`,
      );
    }
    result.set(name, model);
  }
  return result;
}
