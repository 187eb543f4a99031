import { useQuery } from '@tanstack/react-query';
import { Json } from '../../components/code.tsx';
import { Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { useSession } from '../../session/context.tsx';

/** Every type of event with its schema and an example. */
export function EventCatalog() {
  const { api, key } = useSession();
  const catalog = useQuery({
    queryKey: key('webhook-events'),
    queryFn: ({ signal }) => api.webhookEvents.list({ signal }).page(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (catalog.error) return <Problem error={catalog.error} retry={() => void catalog.refetch()} />;
  if (!catalog.data) return <Loading what="the catalogue" />;
  return catalog.data.items.map(({ type, description, example, schema, deprecated }) => (
    <Section key={type} title={type}>
      <p className="mt-0">
        {description}
        {deprecated && <strong className="text-warn"> Deprecated.</strong>}
      </p>
      <details>
        <summary>Example</summary>
        <Json label={`Example of ${type}`} value={example} />
      </details>
      <details>
        <summary>Schema</summary>
        <Json label={`Schema of ${type}`} value={schema} />
      </details>
    </Section>
  ));
}
