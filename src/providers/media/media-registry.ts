import { AppError } from '../../platform/errors.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { Environment } from '../../platform/tenant.ts';
import { type MediaProvider, type ModelTable, mediaModels } from '../core/media/models.ts';
import { type GenerationRequest, modelOf } from '../core/media/requests.ts';
import type { MediaModel } from './media-ports.ts';

/** Selects implementations by environment. No other code distinguishes live and sandbox. */
export interface MediaRegistry {
  /** The models of this release and of the operator, by published name. */
  readonly models: ModelTable;
  /** @throws AppError provider_not_configured, with facts `{provider}` */
  mediaModel(environment: Environment, provider: MediaProvider): MediaModel;
}

/** @param live adapters of the providers with credentials, by provider */
export const mediaRegistry = (
  sandbox: MediaModel,
  live: ReadonlyMap<MediaProvider, MediaModel> = new Map(),
  models: ModelTable = mediaModels,
): MediaRegistry => ({
  models,
  mediaModel(environment, provider) {
    const found = environment === 'test' ? sandbox : live.get(provider);
    if (found) return found;
    throw new AppError('provider_not_configured', `The provider ${provider} is not configured.`, { provider });
  },
});

/**
 * The implementation for a request whose model was listed at its creation.
 * @throws ProviderFailure when the operator has taken the model away since; AppError provider_not_configured
 */
export function mediaModelFor(
  media: MediaRegistry,
  environment: Environment,
  request: GenerationRequest,
): { provider: MediaProvider; model: MediaModel } {
  const listed = media.models.get(modelOf(request));
  if (!listed) throw new ProviderFailure('retired_model', 'The model is no longer available.');
  const { provider } = listed;
  return { provider, model: media.mediaModel(environment, provider) };
}
