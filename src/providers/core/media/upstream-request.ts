import { type AspectRatio, sizes } from './aspect-ratios.ts';
import type { ImageModel, InputMapping, MusicModel, ToolModel, Upstream, VideoModel } from './models.ts';
import type { BackgroundRemovalRequest, ImageRequest, MusicRequest, UpscaleRequest, VideoRequest } from './requests.ts';

/** The request to a provider. */
export interface UpstreamRequest {
  /** The provider's name of the model. */
  upstream: string;
  input: Record<string, unknown>;
}

/** The seconds that are requested from a model: its next longer offer. */
export const offeredSeconds = ({ offers }: Pick<VideoModel, 'offers'>, seconds: number): number =>
  offers.find((offer) => offer >= seconds) ?? offers.at(-1) ?? Math.ceil(seconds);

const field = (name: string | undefined, value: unknown) =>
  name === undefined || value === null || value === undefined ? {} : { [name]: value };

function promptOf({ prompt, negativePrompt }: InputMapping, asked: string, unwanted: string | null) {
  const fold = unwanted !== null && negativePrompt === undefined;
  return { ...field(prompt, fold ? `${asked}\nAvoid: ${unwanted}` : asked), ...field(negativePrompt, unwanted) };
}

function sizeOf({ size }: InputMapping, ratio: AspectRatio) {
  if (!size) return {};
  if (size.as === 'pixels') return { [size.field]: sizes[ratio] };
  return field(size.field, size.as === 'ratio' ? ratio : size.as[ratio]);
}

function secondsOf({ seconds }: InputMapping, value: number) {
  if (!seconds) return {};
  if (seconds.as === 'number') return { [seconds.field]: value };
  return { [seconds.field]: seconds.as === 'text_s' ? `${value}s` : String(value) };
}

const merged = (base: InputMapping, more: InputMapping | undefined): InputMapping => ({
  ...base,
  ...more,
  params: { ...base.params, ...more?.params },
});

/** @param seed sent where the model takes one */
export function imageUpstream(model: ImageModel, request: ImageRequest, seed: number): UpstreamRequest {
  const change = model.qualities?.[request.quality];
  const mapping = merged(model.input, change?.input);
  return {
    upstream: change?.upstream ?? model.upstream,
    input: {
      ...promptOf(mapping, request.prompt, request.negativePrompt),
      ...sizeOf(mapping, request.aspectRatio),
      ...field(mapping.seed, seed),
      ...mapping.params,
    },
  };
}

/** @param imageUrl where the provider can read the first image; its ratio gives way to the one asked */
export function videoUpstream(
  model: VideoModel,
  request: VideoRequest,
  seed: number,
  imageUrl: string | null,
): UpstreamRequest {
  const mapping = model.input;
  return {
    upstream: imageUrl === null ? model.upstream : model.fromImage.upstream,
    input: {
      ...promptOf(mapping, request.prompt, null),
      ...sizeOf(mapping, request.aspectRatio),
      ...secondsOf(mapping, offeredSeconds(model, request.duration)),
      ...field(mapping.seed, seed),
      ...field(imageUrl === null ? undefined : model.fromImage.image, imageUrl),
      ...mapping.params,
    },
  };
}

/** No model has a field for the tempo, so the prompt says it. */
export function musicUpstream(model: MusicModel, request: MusicRequest, seed: number): UpstreamRequest {
  const { prompt, duration, bpm } = request;
  return {
    upstream: model.upstream,
    input: {
      ...promptOf(model.input, bpm === null ? prompt : `${prompt}\nAt ${bpm} BPM.`, null),
      ...secondsOf(model.input, Math.ceil(duration)),
      ...field(model.input.seed, seed),
      ...model.input.params,
    },
  };
}

/** For work on an image. @param imageUrl where the provider can read it */
export function toolUpstream(
  { upstream, input }: Pick<ToolModel & Upstream, 'upstream' | 'input'>,
  request: UpscaleRequest | BackgroundRemovalRequest,
  imageUrl: string,
): UpstreamRequest {
  const scale = request.kind === 'upscale' ? request.scale : undefined;
  return { upstream, input: { ...field(input.image, imageUrl), ...field(input.scale, scale), ...input.params } };
}
