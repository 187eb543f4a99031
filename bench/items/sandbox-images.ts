import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BoundedWork } from '../../src/platform/bounded-work/bounded-work.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { sizes } from '../../src/providers/core/media/aspect-ratios.ts';
import { renderMedia } from '../../src/providers/sandbox/media/rendering.ts';
import { tenantKeyOf } from '../../test/platform/tenant-key.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { type Operation, ratePerSecond, timeAlone } from '../load.ts';

const baseline = 'bare rendering in the same kind of pool';
const rounds = 5;
const alone = { count: 10 };
const crowd = { concurrency: 8, rampMs: 500, windowMs: 3_000 };
/** As many as a quality of the product draws. */
const shapes = 12;

/** P12: what reserving, a durable workflow, storing, recording and paying cost on top of the rendering of an image. */
export const sandboxImages: Item = {
  name: 'P12',
  title: 'POST /api/studio/generate with a test key, 1024 x 1024: p50 alone, and images per second of 8 callers',
  needs: 'stand',
  async run(stand, cleanup) {
    const folder = await mkdtemp(join(tmpdir(), 'atelier-bench-images-'));
    cleanup.add(() => rm(folder, { recursive: true, force: true }));
    const pool = new BoundedWork({ log: openLog('error', 'bench'), tasks: [renderMedia.image] });
    cleanup.add(() => pool.close());
    let count = 0;
    const bare: Operation = async () => {
      const digest = createHash('sha256').update(`bare ${count++}`).digest('hex');
      const output = join(folder, `${count}.png`);
      const rendering = { kind: 'image' as const, digest, size: sizes['1:1'], shapes, output };
      await pool.run(renderMedia.image, tenantKeyOf(stand.organizationId), rendering, { waitMs: 60_000 });
      await rm(output);
    };
    const product: Operation = () => stand.client.post('/api/studio/generate', { prompt: `An image ${count++}` });
    const side = (name: string, measure: () => ReturnType<Side['round']>): Side => ({
      name,
      warmUp: measure,
      round: measure,
    });
    const times = await interleave(stand.meter, rounds, [
      side(baseline, () => timeAlone(bare, alone)),
      side('product', () => timeAlone(product, alone)),
    ]);
    const rates = await interleave(stand.meter, rounds, [
      side(baseline, () => ratePerSecond(bare, crowd)),
      side('product', () => ratePerSecond(product, crowd)),
    ]);
    pool.close();
    return [
      compare('ms', 'p50 alone', times, { [baseline]: { atMost: 1.3 } }),
      compare('img/s', '8 at once', rates, { [baseline]: { atLeast: 0.8 } }),
    ];
  },
};
