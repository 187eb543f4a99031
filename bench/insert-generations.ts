import type pg from 'pg';

/** Every 1,000 generations in a row are 909 images, 80 music, 10 videos and 1 upscale; 10 failed. */
const kinds = `case when n % 1000 = 7 then 'upscale' when n % 100 = 3 then 'video' when n % 25 < 2 then 'music' else 'image' end`;

/**
 * Generations of a tenant as the product would have recorded them, the last ones completed like the others; their files do
 * not exist. Blocks are counted by the product.
 */
export async function insertGenerations(
  client: pg.Client | pg.Pool,
  { organizationId, count }: { organizationId: string; count: number },
): Promise<void> {
  await client.query(
    `insert into generation (id, organization_id, environment, number, kind, status, request, seed, file, width, height,
                             seconds, credits, error, correlation_id, created_at, finished_at)
     select uuidv7(), $1::uuid, 'test', n, kind, case when failed then 'failed' else 'completed' end,
            jsonb_build_object('kind', kind, 'prompt', 'A red bicycle in front of a blue wall', 'model', 'flux-dev',
                               'aspectRatio', '1:1', 'quality', 'standard', 'duration', 10, 'scale', 2),
            n, case when not failed then lpad(n::text, 43, 'n') || '.png' end, 1024, 1024, null,
            case when not failed then 1 end,
            case when failed then '{"code": "provider_error", "message": "It failed."}'::jsonb end,
            'bench', now() - make_interval(secs => $2::int - n), now()
       from (select n, ${kinds} as kind, n % 100 = 50 as failed from generate_series(1, $2::int) n) as made`,
    [organizationId, count],
  );
  await client.query(
    `insert into generation_total (organization_id, environment, total) values ($1, 'test', $2)
     on conflict (organization_id, environment) do update set total = excluded.total`,
    [organizationId, count],
  );
}
