/** Plays or shows a generated file. The address is signed and leads to the installation's storage. */
export function Media({ type, url, description }: { type: string; url: string; description: string }) {
  if (type === 'video') {
    return (
      <video src={url} controls preload="metadata" aria-label={description} className="w-full rounded-md">
        <track kind="captions" />
      </video>
    );
  }
  if (type === 'music') {
    return (
      <audio src={url} controls preload="none" aria-label={description} className="w-full">
        <track kind="captions" />
      </audio>
    );
  }
  return <img src={url} alt={description} loading="lazy" className="w-full rounded-md" />;
}
