import { withoutSlash } from '../../../platform/core/base-url.ts';
import { AddressRanges } from '../../../platform/egress/address-ranges.ts';
import { knownAddresses } from '../../../platform/egress/egress-destination.ts';
import type { PlatformEnv } from '../../../platform/env.ts';
import type { MediaProvider } from '../../core/media/models.ts';
import type { ProviderEnv } from '../../registry.ts';
import type { MediaModel } from '../media-ports.ts';
import { falHost } from './fal.ts';
import type { MediaHost } from './media-host.ts';
import { type LiveMediaOptions, liveMediaModel } from './media-model.ts';
import { runwayHost } from './runway.ts';

/** Time limit of one call. The longest is a submission with an image in it. */
const timeoutMs = 50_000;

const loopback = new AddressRanges(['127.0.0.0/8', '::1/128', '0.0.0.0/8', '::/128']);

/** The path at which fal reports the end of a generation's job. */
const falHookPath = (generationId: string): string => `/hooks/fal/${generationId}`;

/** Where fal reports to. Undefined where PUBLIC_URL is on this machine alone. */
function webhookUrls(publicUrl: string): ((generationId: string) => string) | undefined {
  const base = withoutSlash(publicUrl);
  const isOwn = knownAddresses(new URL(base).hostname)?.some((address) => loopback.has(address));
  return isOwn ? undefined : (generationId) => base + falHookPath(generationId);
}

/** An adapter for each provider of media whose key is set. */
export function openLiveMedia(
  env: ProviderEnv & Pick<PlatformEnv, 'PUBLIC_URL'>,
  options: LiveMediaOptions,
): ReadonlyMap<MediaProvider, MediaModel> {
  const hosts: MediaHost[] = [];
  const { FAL_KEY, FAL_QUEUE_URL, RUNWAY_API_KEY, RUNWAY_BASE_URL, PUBLIC_URL } = env;
  if (FAL_KEY !== undefined) {
    const baseUrl = withoutSlash(FAL_QUEUE_URL);
    hosts.push(falHost({ apiKey: FAL_KEY, baseUrl, timeoutMs, webhookUrl: webhookUrls(PUBLIC_URL) }));
  }
  if (RUNWAY_API_KEY !== undefined) {
    hosts.push(runwayHost({ apiKey: RUNWAY_API_KEY, baseUrl: withoutSlash(RUNWAY_BASE_URL), timeoutMs }));
  }
  return new Map(hosts.map((host) => [host.provider, liveMediaModel(host, options)]));
}
