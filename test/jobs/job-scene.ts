import type { RoleName } from '../../workers/roles.ts';
import { apiClient } from '../api-client.ts';
import { openHubSpotScene } from '../crash/hubspot-scene.ts';
import { successorOf } from '../crash/successor.ts';
import type { FakeHubSpot } from '../fakes/hubspot.ts';
import { type FakeAudio, startFakeAudio } from '../fakes/openai-audio.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import type { Product, Tenant } from '../product.ts';
import { ownEntryPoint, type ProductProcess } from '../product-process.ts';

/** A product whose one process does the work of every kind of job, and whose live keys have fake providers. */
export interface JobScene {
  product: Product;
  tenant: Tenant;
  hubspot: FakeHubSpot;
  audio: FakeAudio;
  /** The one that lives. */
  process(): ProductProcess;
  /** Waits for the death of the process, and starts another one in its place. */
  succeed(): Promise<void>;
  /** Stops the process, and starts one whose death Temporal notices as late as usually. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

const roles: RoleName[] = ['api', 'runs', 'generation', 'integrations'];

export async function openJobScene(): Promise<JobScene> {
  const audio = await startFakeAudio();
  const scene = await openHubSpotScene(roles, {
    VOICE_API_KEY: audio.apiKey,
    VOICE_BASE_URL: audio.baseUrl,
    VOICE_NAMES: '{"nova":"jane"}',
  });
  const { product, tenant, hubspot } = scene;
  let { process } = scene;
  await connectInSandbox(apiClient(process.api, tenant.testKey), process.api, 'linkedin');
  return {
    product,
    tenant,
    hubspot,
    audio,
    process: () => process,
    async succeed() {
      process = await successorOf(process, product, roles);
    },
    async restart() {
      await process.stop();
      process = await product.start(roles, {}, ownEntryPoint);
    },
    async close() {
      await scene.close();
      await audio.close();
    },
  };
}
