import { useEffect, useRef, useState } from 'react';
import type { Transcription } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Code, RequestExample } from '../../components/code.tsx';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import type { Environment } from '../../session/session.ts';

/** A file is sent as a form. */
function exampleOfFile(environment: Environment) {
  const call = `voice.transcribe({ audio: await openAsBlob('recording.webm') })`;
  const { curl, typescript } = exampleOf({ method: 'POST', path: '/api/voice/stt', call }, environment);
  return {
    curl: `${curl} \\\n  -F audio=@recording.webm`,
    typescript: `import { openAsBlob } from 'node:fs';\n${typescript}`,
  };
}

/** Transcribes a file, or a recording of the microphone. */
export function Transcribe() {
  const { api, environment } = useSession();
  const [file, setFile] = useState<Blob>();
  const [result, setResult] = useState<Transcription>();
  const recorder = useRef<MediaRecorder>(undefined);
  const [isRecording, setRecording] = useState(false);
  const isLeft = useRef(false);
  // The microphone is not left open behind another page.
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
      if (recorder.current?.state === 'recording') recorder.current.stop();
    };
  }, []);
  const transcribe = useAction(async () => setResult(await api.voice.transcribe({ audio: file! })));
  const record = useAction(async () => {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    if (isLeft.current) {
      for (const track of stream.getTracks()) track.stop();
      return;
    }
    const pieces: Blob[] = [];
    const recording = new MediaRecorder(stream);
    recording.ondataavailable = ({ data }) => pieces.push(data);
    recording.onstop = () => {
      for (const track of stream.getTracks()) track.stop();
      setFile(new Blob(pieces, { type: recording.mimeType }));
      setRecording(false);
    };
    recorder.current = recording;
    recording.start();
    setRecording(true);
  });
  return (
    <Section title="Speech to text">
      {transcribe.error !== undefined && <Problem error={transcribe.error} />}
      {record.error !== undefined && <Problem error={record.error} />}
      <label className="mb-3 block">
        <span className="mb-1 block font-medium">Recording</span>
        <input
          type="file"
          accept="audio/*,video/mp4,video/webm"
          onChange={({ target }) => setFile(target.files?.[0])}
        />
      </label>
      <div className="flex gap-2">
        {isRecording ? (
          <Button look="danger" onClick={() => recorder.current?.stop()}>
            Stop recording
          </Button>
        ) : (
          <Button onClick={() => void record.run()}>Record</Button>
        )}
        <Button look="primary" disabled={!file} isBusy={transcribe.isBusy} onClick={() => void transcribe.run()}>
          Transcribe
        </Button>
      </div>
      {file && !isRecording && <p className="text-sm text-muted">{Math.ceil(file.size / 1024)} KiB to transcribe.</p>}
      <RequestExample {...exampleOfFile(environment)} />
      {result && (
        <div aria-live="polite" className="mt-4">
          <Code label="Transcription" text={result.text} />
          <p className="text-sm text-muted">
            {result.language}, {result.duration} s
          </p>
        </div>
      )}
    </Section>
  );
}
