import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useSession } from '../../session/context.tsx';
import { Gallery } from './gallery.tsx';
import { Generate } from './generate.tsx';

/** Generates images, videos and music, and shows what was generated. */
export default function Studio() {
  const { may } = useSession();
  return (
    <Page title="Studio">
      <Tabs
        tabs={[
          { name: 'gallery', title: 'Gallery', content: () => <Gallery /> },
          ...(may('member')
            ? [
                { name: 'image', title: 'Image', content: () => <Generate key="image" type="image" /> },
                { name: 'video', title: 'Video', content: () => <Generate key="video" type="video" /> },
                { name: 'music', title: 'Music', content: () => <Generate key="music" type="music" /> },
              ]
            : []),
        ]}
      />
    </Page>
  );
}
