import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Limits } from './limits.tsx';
import { Statement } from './statement.tsx';
import { UsageGroups } from './usage-groups.tsx';
import { UsageTotals } from './usage-totals.tsx';

function MonthAndGroups() {
  return (
    <>
      <UsageTotals />
      <UsageGroups />
    </>
  );
}

/** Usage, its cost, and the rest of the plan. */
export default function Usage() {
  return (
    <Page title="Usage">
      <Tabs
        tabs={[
          { name: 'usage', title: 'Usage', content: () => <MonthAndGroups /> },
          { name: 'statement', title: 'Statement', content: () => <Statement /> },
          { name: 'limits', title: 'Limits', content: () => <Limits /> },
        ]}
      />
    </Page>
  );
}
