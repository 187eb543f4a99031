import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { IntegrationList } from './integration-list.tsx';
import { ToolServers } from './tool-servers.tsx';

/** Accounts at other products, and the tool servers that models can use. */
export default function Integrations() {
  return (
    <Page title="Integrations and tools">
      <Tabs
        tabs={[
          { name: 'integrations', title: 'Integrations', content: () => <IntegrationList /> },
          { name: 'tools', title: 'Tool servers', content: () => <ToolServers /> },
        ]}
      />
    </Page>
  );
}
