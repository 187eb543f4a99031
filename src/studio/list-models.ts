import { AppError } from '../platform/errors.ts';
import type { Environment } from '../platform/tenant.ts';
import type { MediaModel, MediaProvider } from '../providers/core/media/models.ts';
import { requestLimits } from '../providers/core/media/requests.ts';
import type { MediaRegistry } from '../providers/index.ts';
import { studioPrices } from './core/prices.ts';

/** A model that callers can name. */
export interface ListedModel {
  name: string;
  type: 'image' | 'video' | 'music';
  /** Whether the environment can run it. */
  available: boolean;
  aspectRatios?: string[];
  /** In seconds. */
  maxDuration?: number;
  /** In code points. */
  maxPromptLength: number;
  credits: { standard: number; high: number; ultra: number } | { perSecond: number } | { per10Seconds: number };
  sunsetAt: string | null;
}

function factsOf(model: MediaModel) {
  const { promptCharacters } = requestLimits;
  switch (model.kind) {
    case 'image':
      return {
        type: model.kind,
        aspectRatios: [...model.ratios],
        maxPromptLength: promptCharacters,
        credits: studioPrices.image,
      };
    case 'video':
      return {
        type: model.kind,
        aspectRatios: [...model.ratios],
        maxDuration: model.maxSeconds,
        maxPromptLength: model.maxPromptCharacters ?? promptCharacters,
        credits: { perSecond: studioPrices.videoPerSecond },
      };
    case 'music':
      return {
        type: model.kind,
        maxDuration: model.maxSeconds,
        maxPromptLength: promptCharacters,
        credits: { per10Seconds: studioPrices.musicPer10Seconds },
      };
    default:
      return undefined;
  }
}

function isAvailable(media: MediaRegistry, environment: Environment, provider: MediaProvider): boolean {
  try {
    return media.mediaModel(environment, provider) !== undefined;
  } catch (error) {
    if (error instanceof AppError && error.kind === 'provider_not_configured') return false;
    throw error;
  }
}

/** The models that callers can name, in the order of the table, and then those that the operator added. */
export function listModels(media: MediaRegistry, environment: Environment): ListedModel[] {
  return [...media.models].flatMap(([name, model]) => {
    const facts = factsOf(model);
    if (!facts) return [];
    const available = isAvailable(media, environment, model.provider);
    return [{ name, available, sunsetAt: model.sunsetAt ?? null, ...facts }];
  });
}
