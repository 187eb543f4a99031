import { Page } from '../components/page.tsx';
import { Problem } from '../components/problem.tsx';

/** Shown in place of a page that cannot be shown. */
export function PageProblem({ error }: { error: unknown }) {
  return (
    <Page title="This page cannot be shown">
      <Problem error={error} retry={() => location.reload()} />
    </Page>
  );
}
