import { useEffect, useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { SelectField, TextArea } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const voices = ['alloy', 'echo', 'fable', 'onyx', 'nova', 'shimmer'] as const;

/** Speaks a text. */
export function Speech() {
  const { api, environment } = useSession();
  const [text, setText] = useState('');
  const [voice, setVoice] = useState<(typeof voices)[number]>('alloy');
  const [url, setUrl] = useState<string>();
  const body = { text, voice };
  const speak = useAction(async () => setUrl(URL.createObjectURL(await api.voice.speak(body))));
  useEffect(() => () => void (url && URL.revokeObjectURL(url)), [url]);
  return (
    <Section title="Text to speech">
      <ActionForm action={speak}>
        <TextArea
          label="Text"
          required
          maxLength={4096}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <SelectField
          label="Voice"
          value={voice}
          onChange={({ target }) => setVoice(target.value as typeof voice)}
          options={voices.map((value) => ({ value, label: value }))}
        />
        <Button look="primary" type="submit" isBusy={speak.isBusy}>
          Speak
        </Button>
      </ActionForm>
      {url && (
        <div className="mt-4">
          <audio src={url} controls aria-label="The spoken text" className="w-full">
            <track kind="captions" />
          </audio>
          <a href={url} download="speech.mp3">
            Download
          </a>
        </div>
      )}
      <RequestExample
        {...exampleOf(
          { method: 'POST', path: '/api/voice/tts', body, call: `voice.speak(${JSON.stringify(body)})` },
          environment,
        )}
      />
    </Section>
  );
}
