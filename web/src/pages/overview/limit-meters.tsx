import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { useSession } from '../../session/context.tsx';
import { limitName, limitNumber } from '../usage/limit-names.ts';

const maxShown = 8;

/** The limits of the plan with the highest use. */
export function LimitMeters() {
  const { api, key } = useSession();
  const limits = useQuery({
    queryKey: key('limits'),
    queryFn: ({ signal }) => api.limits.get({ signal }),
    refetchInterval: 30_000,
  });
  const shown = (limits.data?.limits ?? [])
    .flatMap(({ name, used, allowed }) => (used === null || allowed <= 0 ? [] : [{ name, used, allowed }]))
    .toSorted((one, other) => other.used / other.allowed - one.used / one.allowed)
    .slice(0, maxShown);
  return (
    <Section
      title="Limits"
      actions={
        <Link to="/usage" search={{ tab: 'limits' } as never}>
          All limits
        </Link>
      }
    >
      {limits.error && <Problem error={limits.error} />}
      <dl className="m-0 grid grid-cols-[repeat(auto-fill,minmax(13rem,1fr))] gap-x-6 gap-y-3">
        {shown.map(({ name, used, allowed }) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-muted">{limitName(name)}</dt>
            <dd className="m-0">
              <meter
                className="w-full"
                aria-label={limitName(name)}
                min={0}
                max={allowed}
                high={allowed * 0.8}
                value={Math.min(used, allowed)}
              />
              <span className="block text-xs tabular-nums">
                {limitNumber(name, used)} of {limitNumber(name, allowed)}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
