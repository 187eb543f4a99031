import { useQuery } from '@tanstack/react-query';
import { Facts, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Time } from '../../components/time.tsx';
import { useSession } from '../../session/context.tsx';

/** What was used in the present month. */
export function UsageTotals() {
  const { api, key } = useSession();
  const usage = useQuery({ queryKey: key('usage'), queryFn: ({ signal }) => api.usage.get({}, { signal }) });
  if (usage.error) return <Problem error={usage.error} retry={() => void usage.refetch()} />;
  if (!usage.data) return <Loading what="usage" />;
  const { period, requests, runs, tokens, credits } = usage.data;
  return (
    <Section title="This month">
      <Facts
        facts={[
          ['From', <Time key="from" at={period.start} />],
          ['To', <Time key="to" at={period.end} />],
          ['Requests', requests.toLocaleString()],
          ['Runs', runs.toLocaleString()],
          ['Tokens', tokens.toLocaleString()],
          ['Credits', credits.toLocaleString()],
        ]}
      />
    </Section>
  );
}
