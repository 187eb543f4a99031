import { Page } from '../../components/page.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { Chat } from './chat.tsx';
import { Speech } from './speech.tsx';
import { Transcribe } from './transcribe.tsx';

/** Tries models: chat with tools, an agent with a system prompt, and voice in both directions. */
export default function Playground() {
  return (
    <Page title="Playground">
      <Tabs
        tabs={[
          { name: 'chat', title: 'Chat and agents', content: () => <Chat /> },
          { name: 'speech', title: 'Text to speech', content: () => <Speech /> },
          { name: 'transcription', title: 'Speech to text', content: () => <Transcribe /> },
        ]}
      />
    </Page>
  );
}
