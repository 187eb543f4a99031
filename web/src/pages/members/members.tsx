import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { InvitationList } from './invitation-list.tsx';
import { MemberList } from './member-list.tsx';
import { OrganizationSettings } from './organization-settings.tsx';

/** The people of the organization, its invitations, and its name. */
export default function Members() {
  return (
    <Page title="Members">
      <Tabs
        tabs={[
          { name: 'members', title: 'Members', content: () => <MemberList /> },
          { name: 'invitations', title: 'Invitations', content: () => <InvitationList /> },
          { name: 'organization', title: 'Organization', content: () => <OrganizationSettings /> },
        ]}
      />
    </Page>
  );
}
